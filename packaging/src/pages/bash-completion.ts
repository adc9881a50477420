import type { CommandHelp } from "./command-help.ts";

/** Writes a bash completion of subcommands and long options. Values of options are completed as file names. */
export function bashCompletion(help: CommandHelp): string {
  const [name = ""] = help.path;
  const functionName = `_${name.replaceAll("-", "_")}`;
  const cases = allCommands(help).map(
    (command) => `    '${command.path.slice(1).join(" ")}') words='${wordsAfter(command).join(" ")}' ;;`,
  );
  return `# bash completion for ${name}                                  -*- shell-script -*-

${functionName}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' words='' word
  COMPREPLY=()
  # The subcommand consists of the words before the first option.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
    -*) break ;;
    *) path="\${path:+$path }$word" ;;
    esac
  done
  case $path in
${cases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F ${functionName} ${name}
`;
}

function allCommands(help: CommandHelp): readonly CommandHelp[] {
  return [help, ...help.commands.flatMap(allCommands)];
}

function wordsAfter({ commands, options }: CommandHelp): readonly string[] {
  const flags = options.flatMap(({ flags: text }) => /--[a-z0-9-]+/.exec(text)?.[0] ?? []);
  return [...commands.map(({ path }) => path.at(-1) ?? ""), ...flags];
}
