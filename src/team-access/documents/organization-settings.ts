/** The settings of an organization that clients send and read: kept, without an effect here. */
import { each, flag, line, optionalLine, type Settings, wholeNumber } from '../jsonapi/settings.ts';

/** By the names of their attributes (team-access-shapes). */
export const organizationSettings: Settings = {
  'default-execution-mode': line('remote'),
  'collaborator-auth-policy': line('password'),
  'session-timeout': wholeNumber(20_160),
  'session-remember': wholeNumber(20_160),
  'owners-team-saml-role-id': optionalLine,
  ...each(
    [
      'assessments-enforced',
      'cost-estimation-enabled',
      'send-passing-statuses-for-untriggered-speculative-plans',
      'aggregated-commit-status-enabled',
      'speculative-plan-management-enabled',
      'allow-force-delete-workspaces',
      'enforce-hyok',
      'stacks-enabled',
      'max-ttl-enabled',
      'registry-monorepo-support-enabled',
    ],
    flag(false),
  ),
  'user-tokens-enabled': flag(true),
};
