/**
 * Which part of `src/` may import which. `npm run check:imports` enforces it.
 *
 *     bin → main, config, cli
 *     main → every part of the server
 *     peering, team-access → credentials, audit → http → state → budget
 *
 * - The two services never import each other.
 * - `budget` and `config` import no other part, `state` only `budget`. `main` passes each part the settings it needs.
 * - `cli` and `console` use the HTTP API only, so every client can do what they do.
 *
 * A part is `src/NAME.ts` or `src/NAME/`. A new part needs a line here.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const ARROWS = {
  main: ['config', 'peering', 'team-access', 'credentials', 'audit', 'http', 'state', 'budget', 'tls'],
  config: [],
  peering: ['credentials', 'audit', 'http', 'state', 'budget'],
  'team-access': ['credentials', 'audit', 'http', 'state', 'budget'],
  credentials: ['audit', 'http', 'state', 'budget'],
  audit: ['http', 'state', 'budget'],
  http: ['state', 'budget'],
  state: ['budget'],
  budget: [],
  tls: [],
  cli: ['tls'],
  console: [],
};

/**
 * The layers inside a part, from the bottom to the top. A file imports files of its own layer and of lower layers.
 *
 * A layer is a list of folders (`memory/`) and files (`table`) of the part. Layers in an inner array are siblings: they
 * are equally high, and do not import each other. Every file of a part that has an entry here belongs to one layer.
 * @type {Readonly<Record<string, ReadonlyArray<string | readonly string[]>>>}
 */
const LAYERS = {
  state: [
    'errors limits table row-change make-directory',
    'clock/',
    'engine/engine engine/limits',
    ['engine/sqlite/', 'engine/etcd/'],
    'watch/',
    'memory/',
    'write/',
    'jobs/',
    'state',
    'transfer/',
  ],
  'state/engine/etcd': [
    'limits keys head-record',
    'client/',
    'prefix-overlap',
    'follow/',
    'commit/',
    'node/',
    'engine',
  ],
  http: [
    'errors limits accept',
    'telemetry/',
    'answer-limits send-body call parameter endpoint query-rules send stream-answer',
    'json/',
    'filter/',
    'v1/',
    'openapi/',
    'server/',
    'blocking/',
    'operators/ v1-conventions',
  ],
  credentials: ['./', 'api/'],
  peering: [
    'limits bodies',
    'record/',
    'trust/',
    'spans token/',
    'peering-context',
    'find/',
    'catalog/',
    'config-entries/',
    'config-entries/edit/ config-entries/api/',
    'export/',
    'stream/',
    ['check/', 'explain/', 'trust/api/', 'dns/', 'api/'],
    'run/',
  ],
  'peering/catalog': ['limits', 'tables/', 'read-fields change-catalog', 'query/', 'api/', 'agent/', 'endpoints'],
  'peering/stream': [
    'limits',
    'contract wire/',
    'session-end connect-failure session/',
    'status/',
    ['importing/', 'exporting/'],
    'opening-spans stream-dependencies',
    ['dialing/', 'accepting/'],
  ],
  'team-access': [
    'limits',
    'tables/',
    'jsonapi/',
    'audit',
    'authorization/',
    'documents/',
    'http/',
    ['organizations/', 'tokens/', 'projects/'],
    'users/',
    ['teams/', 'workspaces/', 'organization-memberships/'],
    ['team-workspaces/', 'effective-access/', 'audit-trail/'],
    'bulk/',
    'start-team-access',
  ],
  cli: ['errors limits shell', 'input/', 'output/', 'client/', 'commands/', 'program'],
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

/**
 * The paths of one layer. `./` is every file directly in the part; a folder includes what is below it, except folders
 * that are listed on their own.
 * @param {string} part @param {string} layer
 */
const layerPaths = (part, layer) =>
  layer.split(' ').map((name) => {
    if (name === './') return `^src/${part}/[^/]+$`;
    return name.endsWith('/') ? `^src/${part}/${name}` : `^src/${part}/${name}[.]ts$`;
  });

/**
 * The paths of the layers that lie inside a folder of `layer` and are listed on their own.
 * @param {string} part @param {readonly string[]} layers @param {string} layer
 */
const innerPaths = (part, layers, layer) => {
  const folders = layer.split(' ').filter((name) => name.endsWith('/'));
  const isInside = (/** @type {string} */ other) =>
    folders.some((folder) => other !== folder && other.startsWith(folder));
  return layers.flatMap((other) => other.split(' ').filter(isInside)).flatMap((name) => layerPaths(part, name));
};

const layerRules = Object.entries(LAYERS).flatMap(([part, ordered]) => {
  const groups = ordered.map((group) => (typeof group === 'string' ? [group] : group));
  const all = groups.flat();
  const rules = groups.flatMap((group, level) =>
    group.map((layer) => {
      const forbidden = [...groups.slice(level + 1).flat(), ...group.filter((other) => other !== layer)];
      return {
        name: `layers-of-${part}`,
        severity: 'error',
        comment: `${part}: "${layer}" may not import a higher layer or a sibling: see LAYERS in .dependency-cruiser.mjs.`,
        from: { path: layerPaths(part, layer), pathNot: [TESTS, '/gen/', ...innerPaths(part, all, layer)] },
        to: { path: forbidden.flatMap((other) => layerPaths(part, other)), pathNot: '/gen/' },
      };
    }),
  );
  const withoutLayer = {
    name: `no-layer-in-${part}`,
    severity: 'error',
    comment: `Every file of ${part} belongs to a layer: see LAYERS in .dependency-cruiser.mjs.`,
    from: { path: `^src/${part}/`, pathNot: [TESTS, '/gen/', ...all.flatMap((layer) => layerPaths(part, layer))] },
    to: {},
  };
  return [...rules.filter(({ to }) => to.path.length > 0), withoutLayer];
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...arrowRules,
    ...layerRules,
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
    // TypeScript 6 and not 7, which has no API for other tools; and this parser knows `await using` and imports of
    // types.
    parser: 'tsc',
    doNotFollow: { path: 'node_modules|/gen/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
