/** One status for an instance: the worst that its checks say. */
import type { InstanceCheck } from '../tables/instance.ts';

export type OverallStatus = 'passing' | 'warning' | 'critical' | 'maintenance';

/** The IDs by which people take a node or a service out of use: it is in maintenance, not broken. */
const NODE_MAINTENANCE = '_node_maintenance';
const SERVICE_MAINTENANCE = '_service_maintenance:';

/** Maintenance, else critical, else warning, else passing. */
export function foldChecks(checks: readonly Pick<InstanceCheck, 'id' | 'status'>[]): OverallStatus {
  let worst: OverallStatus = 'passing';
  for (const { id, status } of checks) {
    if (id === NODE_MAINTENANCE || id.startsWith(SERVICE_MAINTENANCE) || status === 'maintenance') return 'maintenance';
    if (status === 'critical') worst = 'critical';
    else if (status === 'warning' && worst === 'passing') worst = 'warning';
  }
  return worst;
}
