/** Who may do what on a workspace: teams that not everybody sees, access in detail, and the reason for each decision. */
import type { Chapter } from './step.ts';

/** How somebody other than the first administrator asks. */
const as = (user: string): string => `--address $WEST --api-token-file ${user}.token`;

const organization: Chapter = {
  title: 'An organization and its teams',
  steps: [
    {
      why: 'Three people. Each has a token of their own; it is shown once, and Accord keeps a hash of it.',
      command: `for NAME in ada cleo dan; do
  accord user create $NAME --email $NAME@example.org --data-dir west > $NAME.token
done
accord user list --data-dir west`,
      shows: [/\bada\b/, /\bcleo\b/, /\bdan\b/],
    },
    {
      why: 'Who makes an organization owns it. The others come in by their e-mail addresses.',
      command: `accord organization create acme --email it@example.org ${as('ada')} > /dev/null
accord organization add-member acme cleo@example.org ${as('ada')}
accord organization add-member acme dan@example.org ${as('ada')}
accord organization list-members acme ${as('ada')}`,
      shows: [/\bada\b/, /\bcleo\b/, /\bdan\b/],
    },
    {
      why: 'One team is for everybody to see, the other one is secret. Cleo is in both, dan only in the first.',
      command: `accord team create acme/platform --visibility organization ${as('ada')} > /dev/null
accord team create acme/review --visibility secret ${as('ada')} > /dev/null
accord team add-member acme/platform cleo dan ${as('ada')}
accord team add-member acme/review cleo ${as('ada')}
accord team list acme ${as('ada')}`,
      shows: [/^platform\b/m, /^review\b/m, /\bsecret\b/],
    },
    {
      why: 'A secret team does not exist for who is not in it: no list has it,',
      command: `accord team list acme ${as('dan')}`,
      shows: [/^platform\b/m],
      hides: [/review/],
    },
    {
      why: 'and who asks for it gets what somebody gets who asks for a team that was never made.',
      command: `accord team show acme/review ${as('dan')}`,
      exitCode: 1,
      hides: [/secret/],
    },
  ],
};

const access: Chapter = {
  title: 'Who may do what, and why',
  steps: [
    {
      why: 'Access in a file, as it should be: a level, or each permission by itself. What differs is shown, then done.',
      command: `cat > access.yaml <<'END'
workspaces:
  acme/billing:
    platform: read
    review: {access: custom, runs: apply, state-versions: read-outputs}
END
accord workspace create acme/billing ${as('ada')} > /dev/null
accord team-access apply access.yaml --yes ${as('ada')}`,
      shows: [/platform/, /review/],
    },
    {
      why: 'What may cleo do, who is in both teams? The highest of each counts, and the answer says which team gives it.',
      command: `accord access explain --workspace acme/billing --user cleo ${as('ada')}`,
      shows: [/^runs +apply +.*review/m, /^state-versions +read +.*platform/m],
    },
    {
      why: 'What may dan do? He sees his own team in the answer, and nothing of the other one.',
      command: `accord access explain --workspace acme/billing ${as('dan')}`,
      shows: [/^runs +read +.*platform/m],
      hides: [/review/],
    },
    {
      why: 'Every change is in the audit log, written in the same commit as the change itself.',
      command: 'accord audit --limit 5 --data-dir west',
      shows: [/team/],
    },
  ],
};

/** In the order in which they are played; they stand on the cluster west. */
export const teamAccessChapters: readonly Chapter[] = [organization, access];
