/** The page about settings for users, made from the table. */
import { defaultShown, flagOf, secretVariableOf, settingKeys, settingOf, variableOf } from './table.ts';

const INTRODUCTION = `# Settings

<!-- Made by scripts/generate-settings-doc.ts from src/config/table.ts. Change the table, then run the script. -->

Each setting has a key in the YAML file, an environment variable and a flag of \`accord server\`:

| in the file | variable | flag |
| --- | --- | --- |
| \`http.address\` | \`${variableOf('http.address')}\` | \`${flagOf('http.address')}\` |

A flag beats a variable, a variable beats the file, the file beats the default. The file is the one that \`--config\`
names, else \`./accord.yaml\` if it is there. It may nest keys or write them with dots:

\`\`\`yaml
http:
  address: 10.0.0.5:8500
  tls-cert: /etc/accord/server.pem
  tls-key: /etc/accord/server.key
peering.advertise: accord.example:8503
services: [peering]
\`\`\`

Whatever is unknown, bad, or makes no sense beside another setting stops the start with exit code 2 and one line that
says what is wanted. \`accord config\` shows the settings in force and where each came from. Paths are relative to the
working directory. Durations are written \`500ms\`, \`10s\`, \`5m\`, \`1m30s\`, \`24h\`, \`7d\`; sizes \`65536\`, \`64 KiB\`, \`1 MiB\`.

A secret has no flag, since command lines can be read by others: its \`…-file\` key names a file that holds it, or a
variable without \`_FILE\` holds it itself.

SIGHUP reads the sources again: \`log.level\`, \`team-access.rate-limit\` and the certificates of \`http.tls-cert\` take effect,
other changes wait for the next start.
`;

/** The whole page, in Markdown. */
export function settingsDocument(): string {
  const rows = settingKeys.map((key) => {
    const setting = settingOf(key);
    const takes = setting.presence === 'secret' ? `a path; or ${secretVariableOf(key)}` : setting.kind.wanted;
    return `| ${[`\`${key}\``, defaultShown(setting), takes, setting.meaning].map(cell).join(' | ')} |`;
  });
  const table = ['| setting | default | takes | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return `${INTRODUCTION}\n## All settings\n\n${table}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
