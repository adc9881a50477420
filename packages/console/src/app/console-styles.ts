/** The styles of the console. Later style sheets override earlier ones, so their order matters. */
import "./page.css";
import "./tables.css";
import "./panels.css";
import "./overview.css";
import "./policies.css";
import "./forms.css";
import "./lists.css";
import "./dialogs.css";
