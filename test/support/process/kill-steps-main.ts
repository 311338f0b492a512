/** The programs that `killAtEachStep` kills: `node kill-steps-main.ts open|rebuild DIRECTORY`. */
import path from 'node:path';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { rebuildIfDamaged } from '../../../src/main/damaged-database.ts';
import { openDatabase } from '../../../src/state/engine/sqlite/database.ts';

const [, , action, directory = ''] = process.argv;
if (action === 'open') openDatabase(path.join(directory, 'accord.db')).close();
else await rebuildIfDamaged(directory, createLog({ level: 'error', format: 'json' }), new AbortController().signal);
