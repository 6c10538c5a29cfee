//! One file of the engine: the paths that it names, and the methods that it has and calls of types that have them in
//! several files.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Fields, ImplItem, Item, ItemImpl, ItemStruct, Type, UseTree, Visibility};

/// The type that is the desk's alone.
pub(crate) const ENGINE: &str = "Engine";

/// Types that have methods in several files, and the names that variables of them go by.
const SHARED: [(&str, &[&str]); 8] = [
    (ENGINE, &["engine"]),
    ("Records", &["records"]),
    ("Matching", &["matching"]),
    ("Pair", &["pair"]),
    ("Client", &["client"]),
    ("Backend", &["backend"]),
    ("Known", &["known"]),
    ("ClientCommand", &["command"]),
];

/// What a file has and names, without its tests.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// As `a::b`; that of the crate's root is empty.
    pub(crate) module: String,
    /// Paths within the crate, from its root.
    pub(crate) paths: Vec<String>,
    /// Types that have methods in several files, with methods that are defined here.
    pub(crate) methods: Vec<(&'static str, String)>,
    /// The same of methods that are called.
    pub(crate) calls: Vec<(&'static str, String)>,
    /// How often a variant of `Purpose` is named.
    pub(crate) purposes: usize,
    /// Fields of `Client` and `Backend` that are not private.
    pub(crate) public_fields: usize,
}

impl Source {
    /// `path`: without ending, from the crate's `src` folder. `None` of tests and of what does not parse.
    pub(crate) fn read(path: &str, text: &str) -> Option<Self> {
        let module = match path {
            "lib" => String::new(),
            _ => path.strip_suffix("/mod").unwrap_or(path).replace('/', "::"),
        };
        let is_test = path == "tests" || path.ends_with("/tests");
        let file = syn::parse_file(text).ok().filter(|_| !is_test)?;
        let mut source = Self {
            module,
            ..Self::default()
        };
        for item in file.items.iter().filter(|item| !is_for_tests(item)) {
            source.item(item);
        }
        Some(source)
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Use(item) => return self.tree(&item.tree, Vec::new()),
            Item::Impl(item) => self.methods_of(item),
            Item::Struct(item) => self.fields_of(item),
            _ => {}
        }
        let own = match item {
            Item::Impl(item) => shared(&item.self_ty),
            _ => None,
        };
        self.tokens(item.to_token_stream(), own);
    }

    fn methods_of(&mut self, item: &ItemImpl) {
        let Some(of) = shared(&item.self_ty).filter(|_| item.trait_.is_none()) else {
            return;
        };
        for item in &item.items {
            if let ImplItem::Fn(function) = item {
                self.methods.push((of, function.sig.ident.to_string()));
            }
        }
    }

    fn fields_of(&mut self, item: &ItemStruct) {
        if let ("Client" | "Backend", Fields::Named(fields)) =
            (&*item.ident.to_string(), &item.fields)
        {
            let public = fields.named.iter();
            let public = public.filter(|field| !matches!(field.vis, Visibility::Inherited));
            self.public_fields += public.count();
        }
    }

    fn tree(&mut self, tree: &UseTree, mut before: Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before.clone());
                }
            }
            UseTree::Name(name) => {
                before.push(name.ident.to_string());
                self.path(&before);
            }
            UseTree::Rename(name) => {
                before.push(name.ident.to_string());
                self.path(&before);
            }
            UseTree::Glob(_) => self.path(&before),
        }
    }

    /// Takes a path in if it leads somewhere within the crate.
    fn path(&mut self, parts: &[String]) {
        let Some((first, rest)) = parts.split_first() else {
            return;
        };
        let within = match (&**first, self.module.rsplit_once("::")) {
            ("crate", _) => "",
            ("self", _) => &*self.module,
            ("super", Some((parent, _))) => parent,
            ("super", None) => "",
            _ => return,
        };
        let rest = rest
            .iter()
            .map(|part| &**part)
            .filter(|part| *part != "self");
        let whole: Vec<&str> = [within]
            .into_iter()
            .filter(|part| !part.is_empty())
            .chain(rest)
            .collect();
        self.paths.push(whole.join("::"));
    }

    /// Also what is in macros, which are no expressions until they are expanded.
    fn tokens(&mut self, tokens: TokenStream, own: Option<&'static str>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let rest = &tokens[at + 1..];
            if let TokenTree::Ident(ident) = token
                && let Some(of) = type_of(&ident.to_string(), own)
            {
                self.calls.extend(called(rest).map(|name| (of, name)));
            }
            match token {
                TokenTree::Group(group) => self.tokens(group.stream(), own),
                TokenTree::Ident(ident) if *ident == "Purpose" => {
                    self.purposes += usize::from(!after(rest).is_empty());
                }
                TokenTree::Ident(ident) if *ident == "crate" || *ident == "super" => {
                    let parts = [vec![ident.to_string()], after(rest)].concat();
                    self.path(&parts);
                }
                _ => {}
            }
        }
    }
}

/// The method in `.method(…)`.
fn called(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [
            TokenTree::Punct(dot),
            TokenTree::Ident(name),
            TokenTree::Group(group),
            ..,
        ] if dot.as_char() == '.' && group.delimiter() == Delimiter::Parenthesis => {
            Some(name.to_string())
        }
        // With types between.
        [
            TokenTree::Punct(dot),
            TokenTree::Ident(name),
            TokenTree::Punct(colon),
            ..,
        ] if dot.as_char() == '.' && colon.as_char() == ':' => Some(name.to_string()),
        _ => None,
    }
}

/// The names in `::a::b`.
fn after(mut tokens: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    while let [
        TokenTree::Punct(one),
        TokenTree::Punct(two),
        TokenTree::Ident(name),
        rest @ ..,
    ] = tokens
        && (one.as_char(), two.as_char()) == (':', ':')
    {
        names.push(name.to_string());
        tokens = rest;
    }
    names
}

/// The type, if it has methods in several files.
fn shared(of: &Type) -> Option<&'static str> {
    let Type::Path(path) = of else {
        return None;
    };
    let last = path.path.segments.last()?.ident.to_string();
    let known = SHARED.iter().find(|(name, _)| *name == last);
    known.map(|(name, _)| *name)
}

/// The type of what a name stands for. `own`: that of `self`.
fn type_of(name: &str, own: Option<&'static str>) -> Option<&'static str> {
    if name == "self" {
        return own;
    }
    let known = SHARED.iter().find(|(_, names)| names.contains(&name));
    known.map(|(of, _)| *of)
}

fn is_for_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes
        .iter()
        .any(|attribute| attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]")
}
