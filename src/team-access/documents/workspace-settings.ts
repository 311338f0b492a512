/** The settings of a workspace that clients send and read: kept, without an effect here. */
import { each, flag, flags, line, lines, optionalLine, type Settings } from '../jsonapi/settings.ts';

/** By the names of their attributes (team-access-shapes). */
export const workspaceSettings: Settings = {
  description: optionalLine,
  'execution-mode': line('remote'),
  'terraform-version': optionalLine,
  'working-directory': optionalLine,
  'trigger-prefixes': lines,
  'trigger-patterns': lines,
  'source-name': optionalLine,
  'source-url': optionalLine,
  'auto-destroy-at': optionalLine,
  'auto-destroy-activity-duration': optionalLine,
  ...each(
    [
      'allow-destroy-plan',
      'file-triggers-enabled',
      'inherits-project-auto-destroy',
      'speculative-enabled',
      'structured-run-output-enabled',
      'operations',
    ],
    flag(true),
  ),
  ...each(
    [
      'assessments-enabled',
      'auto-apply',
      'auto-apply-run-trigger',
      'global-remote-state',
      'project-remote-state',
      'queue-all-runs',
    ],
    flag(false),
  ),
  'setting-overwrites': flags,
};
