//! What to do about a finding: now, and so that it lasts. Doing it is not decided here.

use serde::Serialize;

use crate::adjust::Setting;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A setting of the kernel.
    Sysctl {
        /// Its name, such as `net.core.somaxconn`.
        key: &'static str,
        /// What it should be.
        value: String,
    },
    /// A file below `/sys`.
    Write {
        /// Its path.
        path: &'static str,
        /// What should stand in it.
        value: &'static str,
    },
    /// The limit of open files of the process.
    OpenFiles(u64),
    /// The limit of threads of the user.
    Threads(u64),
    /// The limit of memory that the process may lock, in bytes.
    LockedMemory(u64),
    /// A variable of the database.
    Variable {
        /// Its name.
        name: &'static str,
        /// What it should be.
        value: String,
        /// Whether it can be set while the database runs.
        dynamic: bool,
    },
    /// Something else, in words.
    Advice {
        /// What to do.
        text: String,
    },
}

/// Where something is set that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A file in `/etc/sysctl.d`.
    SysctlD,
    /// The unit of systemd.
    Systemd,
    /// `/etc/security/limits.d`.
    LimitsD,
    /// Flags of `docker run` or `podman run`.
    Container,
    /// The manifest of a pod.
    Kubernetes,
    /// The settings of the database.
    Database,
    /// The boot loader or a service.
    Boot,
}

/// The settings of a network namespace: a container has its own.
const OF_NAMESPACE: [&str; 10] = [
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
];

impl Place {
    /// What to write before the text, where that does not say itself where it belongs.
    pub fn title(self) -> &'static str {
        match self {
            Self::Systemd => "systemd: ",
            Self::Kubernetes => "Kubernetes: ",
            Self::Database => "its settings: ",
            Self::SysctlD | Self::LimitsD | Self::Container | Self::Boot => "",
        }
    }
}

impl Remedy {
    /// A setting of the kernel that is one number.
    pub(crate) fn sysctl(key: &'static str, value: u64) -> Self {
        Self::sysctl_of(key, value.to_string())
    }

    /// A setting of the kernel that is several numbers.
    pub(crate) fn sysctl_of(key: &'static str, value: String) -> Self {
        Self::Sysctl { key, value }
    }

    /// Words.
    pub(crate) fn advice(text: impl Into<String>) -> Self {
        Self::Advice { text: text.into() }
    }

    /// The command or words for now.
    pub fn now(&self) -> String {
        match self {
            Self::Sysctl { key, value } if value.contains(' ') => {
                format!("sysctl -w {key}='{value}'")
            }
            Self::Sysctl { key, value } => format!("sysctl -w {key}={value}"),
            Self::Write { path, value } => format!("echo {value} > {path}"),
            Self::OpenFiles(limit) => format!("ulimit -n {limit}"),
            Self::Threads(limit) => format!("ulimit -u {limit}"),
            Self::LockedMemory(bytes) => format!("ulimit -l {}", bytes >> 10),
            Self::Variable {
                name,
                value,
                dynamic: true,
            } => format!("SET GLOBAL {name} = {value}"),
            Self::Variable { name, .. } => {
                format!("{name} cannot be changed while the database runs")
            }
            Self::Advice { text } => text.clone(),
        }
    }

    /// What makes it last, and where each is written.
    pub fn lasting(&self) -> Vec<(Place, String)> {
        match self {
            Self::Sysctl { key, value } => of_sysctl(key, value),
            Self::Write { path, value } => {
                let line = format!("/etc/tmpfiles.d/60-myriad.conf: w {path} - - - - {value}");
                vec![(Place::Boot, line)]
            }
            Self::OpenFiles(limit) => vec![
                (
                    Place::Systemd,
                    format!("[Service] LimitNOFILE={limit}, then systemctl daemon-reload"),
                ),
                (
                    Place::LimitsD,
                    format!("/etc/security/limits.d/60-myriad.conf: * - nofile {limit}"),
                ),
                (
                    Place::Container,
                    format!("docker run --ulimit nofile={limit}:{limit} …"),
                ),
                (
                    Place::Kubernetes,
                    "the runtime's own limit on the node counts: LimitNOFILE of containerd.service"
                        .into(),
                ),
            ],
            Self::Threads(limit) => vec![
                (
                    Place::Systemd,
                    format!("[Service] LimitNPROC={limit} and TasksMax={limit}"),
                ),
                (
                    Place::LimitsD,
                    format!("/etc/security/limits.d/60-myriad.conf: * - nproc {limit}"),
                ),
                (
                    Place::Container,
                    format!("docker run --pids-limit {limit} --ulimit nproc={limit} …"),
                ),
                (
                    Place::Kubernetes,
                    format!("podPidsLimit: {limit} in the kubelet's configuration"),
                ),
            ],
            Self::LockedMemory(bytes) => of_locked_memory(*bytes),
            Self::Variable { name, value, .. } => {
                vec![(Place::Database, format!("[mysqld] {name} = {value}"))]
            }
            Self::Advice { .. } => Vec::new(),
        }
    }

    /// What `--fix` may write.
    pub fn setting(&self) -> Option<Setting> {
        match self {
            Self::Sysctl { key, value } => Some(Setting::sysctl(key, value.as_str())),
            Self::Write { path, value } => Some(Setting::file(path, *value)),
            _ => None,
        }
    }
}

fn of_locked_memory(bytes: u64) -> Vec<(Place, String)> {
    let kibibytes = bytes >> 10;
    let of_node = "the runtime's own limit on the node counts: LimitMEMLOCK of containerd.service";
    vec![
        (
            Place::Systemd,
            format!("[Service] LimitMEMLOCK={bytes}, then systemctl daemon-reload"),
        ),
        (
            Place::LimitsD,
            format!("/etc/security/limits.d/60-myriad.conf: * - memlock {kibibytes}"),
        ),
        (
            Place::Container,
            format!("docker run --ulimit memlock={bytes}:{bytes} …"),
        ),
        (Place::Kubernetes, of_node.into()),
    ]
}

fn of_sysctl(key: &str, value: &str) -> Vec<(Place, String)> {
    let line = format!("/etc/sysctl.d/60-myriad.conf: {key} = {value}");
    let mut places = vec![(Place::SysctlD, line)];
    if OF_NAMESPACE.contains(&key) {
        places.push((
            Place::Container,
            format!("docker run --sysctl {key}='{value}' … (with --network host: on the host)"),
        ));
        places.push((
            Place::Kubernetes,
            format!("securityContext.sysctls: {{name: {key}, value: \"{value}\"}}"),
        ));
    } else {
        places.push((
            Place::Container,
            "only on the host: the setting is not a container's own".into(),
        ));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_several_numbers_is_quoted_in_a_command() {
        let range = Remedy::sysctl_of("net.ipv4.ip_local_port_range", "4000 65000".into());
        assert_eq!(
            range.now(),
            "sysctl -w net.ipv4.ip_local_port_range='4000 65000'"
        );
        assert_eq!(
            Remedy::sysctl("fs.nr_open", 9).now(),
            "sysctl -w fs.nr_open=9"
        );
    }

    #[test]
    fn only_what_a_namespace_has_can_be_set_for_a_container() {
        let text = |key| {
            let places = Remedy::sysctl(key, 1).lasting();
            let container = places.into_iter().find(|(p, _)| *p == Place::Container);
            container.unwrap().1
        };
        assert!(text("net.core.somaxconn").starts_with("docker run --sysctl net.core.somaxconn"));
        assert!(text("net.core.netdev_max_backlog").starts_with("only on the host"));
        let files = Remedy::OpenFiles(7).lasting();
        assert!(
            files
                .iter()
                .any(|(p, t)| *p == Place::Systemd && t.contains("LimitNOFILE=7"))
        );
    }

    #[test]
    fn words_and_limits_of_other_processes_are_not_written() {
        assert_eq!(Remedy::advice("sleep").setting(), None);
        assert_eq!(Remedy::OpenFiles(1).setting(), None);
        let setting = Remedy::sysctl("vm.max_map_count", 5).setting().unwrap();
        assert_eq!(
            (setting.name.as_str(), setting.value.as_str()),
            ("vm.max_map_count", "5")
        );
    }
}
