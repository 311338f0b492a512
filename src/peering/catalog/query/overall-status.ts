/** Computes the status of an instance from its checks ([SVC-36]). */
import type { InstanceCheck } from '../tables/instance.ts';

export type OverallStatus = 'passing' | 'warning' | 'critical' | 'maintenance';

/** Check IDs that put a node or a service into maintenance, whatever the status of the check. */
const NODE_MAINTENANCE = '_node_maintenance';
const SERVICE_MAINTENANCE = '_service_maintenance:';

/** Returns the worst status, in the order maintenance, critical, warning, passing. */
export function overallStatus(checks: readonly Pick<InstanceCheck, 'id' | 'status'>[]): OverallStatus {
  let worst: OverallStatus = 'passing';
  for (const { id, status } of checks) {
    if (id === NODE_MAINTENANCE || id.startsWith(SERVICE_MAINTENANCE) || status === 'maintenance') return 'maintenance';
    if (status === 'critical') worst = 'critical';
    else if (status === 'warning' && worst === 'passing') worst = 'warning';
  }
  return worst;
}
