/** Chapters about team access: secret teams, permissions on a workspace, and the explanation of a decision. */
import type { Chapter } from './step.ts';

/** Returns the options of a command as another user. */
const as = (user: string): string => `--address $WEST --api-token-file ${user}.token`;

const organization: Chapter = {
  title: 'An organization and its teams',
  steps: [
    {
      title: 'Create three users. Each token is shown once; Accord stores only its hash.',
      command: `for NAME in ada cleo dan; do
  accord user create $NAME --email $NAME@example.org --data-dir west > $NAME.token
done
accord user list --data-dir west`,
      matches: [/\bada\b/, /\bcleo\b/, /\bdan\b/],
    },
    {
      title: 'Create an organization as ada, who becomes its owner, and add the others by email address.',
      command: `accord organization create acme --email it@example.org ${as('ada')} > /dev/null
accord organization add-member acme cleo@example.org ${as('ada')}
accord organization add-member acme dan@example.org ${as('ada')}
accord organization list-members acme ${as('ada')}`,
      matches: [/\bada\b/, /\bcleo\b/, /\bdan\b/],
    },
    {
      title: 'Create a visible team and a secret team. Cleo is in both, dan only in the visible one.',
      command: `accord team create acme/platform --visibility organization ${as('ada')} > /dev/null
accord team create acme/review --visibility secret ${as('ada')} > /dev/null
accord team add-member acme/platform cleo dan ${as('ada')}
accord team add-member acme/review cleo ${as('ada')}
accord team list acme ${as('ada')}`,
      matches: [/^platform\b/m, /^review\b/m, /\bsecret\b/],
    },
    {
      title: 'Dan cannot see the secret team in a list,',
      command: `accord team list acme ${as('dan')}`,
      matches: [/^platform\b/m],
      excludes: [/review/],
    },
    {
      title: 'and a request for it gets the same 404 as a request for a team that does not exist.',
      command: `accord team show acme/review ${as('dan')}`,
      exitCode: 1,
      excludes: [/secret/],
    },
  ],
};

const access: Chapter = {
  title: 'Permissions and their explanation',
  steps: [
    {
      title:
        'Apply team access from a file, by level or by single permission. The command prints the difference first.',
      command: `cat > access.yaml <<'END'
workspaces:
  acme/billing:
    platform: read
    review: {access: custom, runs: apply, state-versions: read-outputs}
END
accord workspace create acme/billing ${as('ada')} > /dev/null
accord team-access apply access.yaml --yes ${as('ada')}`,
      matches: [/platform/, /review/],
    },
    {
      title: 'Explain what cleo may do. The highest permission of both teams counts, and each line names its source.',
      command: `accord access explain --workspace acme/billing --user cleo ${as('ada')}`,
      matches: [/^runs +apply +.*review/m, /^state-versions +read +.*platform/m],
    },
    {
      title: 'Explain what dan may do. He sees his own team and nothing about the secret one.',
      command: `accord access explain --workspace acme/billing ${as('dan')}`,
      matches: [/^runs +read +.*platform/m],
      excludes: [/review/],
    },
    {
      title: 'Every change has an audit entry, written in the same commit.',
      command: 'accord audit --limit 5 --data-dir west',
      matches: [/team/],
    },
  ],
};

/** The chapters in order. They run on the cluster west. */
export const teamAccessChapters: readonly Chapter[] = [organization, access];
