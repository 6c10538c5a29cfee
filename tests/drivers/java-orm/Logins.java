// What comes of logins with a connector for Java: java Logins.java mysql|mariadb < LINES.
//
// Each line is a login: "tcp", host and port, user, password, and "off" or "required" for TLS, with a tab between two.
// Prints a line for each: who it is, or the error.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

public class Logins {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(outcome(arguments[0], line.split("\t", -1)));
            System.out.flush();
        }
    }

    static String outcome(String connector, String[] login) {
        String address = login[1].replace(' ', ':');
        Properties properties = new Properties();
        properties.setProperty("user", login[2]);
        properties.setProperty("password", login[3]);
        properties.setProperty("sslMode", mode(connector.equals("mysql"), login[4].equals("required")));
        properties.setProperty("allowPublicKeyRetrieval", "true");
        properties.setProperty("connectTimeout", "10000");
        properties.setProperty("socketTimeout", "20000");
        try (Connection connection = DriverManager.getConnection("jdbc:" + connector + "://" + address + "/", properties);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT CURRENT_USER()")) {
            rows.next();
            return "ok " + rows.getString(1);
        } catch (SQLException error) {
            // Behind the first line stand addresses; the connection's id, which each has its own of, is in it.
            String text = String.valueOf(error.getMessage()).split("\n")[0].replaceAll("conn=-?\\d+", "conn").replace(address, "there");
            return error.getErrorCode() + " " + error.getSQLState() + " " + text;
        }
    }

    // The certificate is not looked at.
    static String mode(boolean mysql, boolean required) {
        if (mysql) {
            return required ? "REQUIRED" : "DISABLED";
        }
        return required ? "trust" : "disable";
    }
}
