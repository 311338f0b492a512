/**
 * Which part of the code may import which: the one table of arrows. `npm run check:imports` holds the code to it.
 *
 *     bin → main, config, cli
 *     main → everything on the server's side
 *     peering, team-access → credentials, audit → http → state
 *
 * - The two services never import each other: what both need stands below them.
 * - `state` and `config` stand alone. The parts get the settings they need from main as arguments.
 * - `cli` and `console` know the HTTP API alone, so whatever they can do, every client can.
 *
 * A part is `src/NAME.ts` or `src/NAME/`. A new part starts with a line here.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const ARROWS = {
  main: ['config', 'peering', 'team-access', 'credentials', 'audit', 'http', 'state'],
  config: [],
  peering: ['credentials', 'audit', 'http', 'state'],
  'team-access': ['credentials', 'audit', 'http', 'state'],
  credentials: ['audit', 'http', 'state'],
  audit: ['http', 'state'],
  http: ['state'],
  state: [],
  cli: [],
  console: [],
};

/** What the thin entry in bin/ may start. */
const STARTED_BY_BIN = ['main', 'config', 'cli'];

/** Everything that is not a package. */
const OURS = '^(src|bin|test|bench|demo|soak|scripts)/';

/** Tests, and suites that tests share. They stand beside the code, follow its arrows, and may use test/support too. */
const TESTS = '[.](test|suite)[.]ts$';

/** @param {readonly string[]} parts */
const anyOf = (parts) => `^src/(${parts.join('|')})[./]`;

const arrowRules = Object.entries(ARROWS).flatMap(([part, allowed]) => [
  {
    name: `arrow-from-${part}`,
    severity: 'error',
    comment: `${part} may import ${allowed.join(', ') || 'no other part'}: see the table in .dependency-cruiser.mjs.`,
    from: { path: anyOf([part]), pathNot: TESTS },
    to: { path: OURS, pathNot: anyOf([part, ...allowed]) },
  },
  {
    name: `arrow-from-tests-of-${part}`,
    severity: 'error',
    comment: `Tests of ${part} may import what it may, and test/support: see the table in .dependency-cruiser.mjs.`,
    from: { path: [`^src/${part}${TESTS}`, `^src/${part}/.*${TESTS}`] },
    to: { path: OURS, pathNot: [anyOf([part, ...allowed]), '^test/support/'] },
  },
]);

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...arrowRules,
    {
      name: 'arrow-from-bin',
      severity: 'error',
      comment: `bin may import ${STARTED_BY_BIN.join(', ')}: see the table in .dependency-cruiser.mjs.`,
      from: { path: '^bin/' },
      to: { path: '^(src|test|bench|demo|soak|scripts)/', pathNot: anyOf(STARTED_BY_BIN) },
    },
    {
      name: 'part-without-arrows',
      severity: 'error',
      comment: 'Every file in src belongs to a part with a line in the table in .dependency-cruiser.mjs.',
      from: {},
      to: { path: '^src/', pathNot: anyOf(Object.keys(ARROWS)) },
    },
    {
      name: 'arrow-from-no-part',
      severity: 'error',
      comment: 'Every file in src belongs to a part with a line in the table in .dependency-cruiser.mjs.',
      from: { path: '^src/', pathNot: anyOf(Object.keys(ARROWS)) },
      to: {},
    },
    {
      name: 'no-tests-in-production',
      severity: 'error',
      comment: 'What runs in production imports no test, suite or test support.',
      from: { path: '^(src|bin)/', pathNot: TESTS },
      to: { path: `${TESTS}|^test/` },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Two files that need each other are one file, or need a third. Imports of types count.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-index-files',
      severity: 'error',
      comment: 'The folder listing is the index: import the file that has it.',
      from: {},
      to: { path: '/index[.]ts$', pathNot: 'node_modules' },
    },
    {
      name: 'no-development-packages-in-production',
      severity: 'error',
      comment: 'What runs in production is listed under `dependencies`.',
      from: { path: '^(src|bin)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'found',
      severity: 'error',
      comment: 'The imported file or package does not exist.',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 6 and not 7, which has no API for other tools; and this parser knows `await using` and imports of types.
    parser: 'tsc',
    doNotFollow: { path: 'node_modules|/gen/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
