/**
 * An instance of a service, local or imported: the node, the service on it, and the checks of both. Stored as plain
 * JSON. The wire format and the API have their own field names.
 */
import type { CheckDefinition } from './check-definition.ts';

export interface ServiceAddress {
  readonly address: string;
  readonly port: number;
}

export interface InstanceNode {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly datacenter: string;
  readonly partition: string;
  readonly taggedAddresses: Readonly<Record<string, string>>;
  readonly meta: Readonly<Record<string, string>>;
}

export interface InstanceService {
  readonly id: string;
  readonly name: string;
  /** Empty for an ordinary service, otherwise a part of a mesh such as `connect-proxy`. */
  readonly kind: string;
  readonly tags: readonly string[];
  readonly address: string;
  readonly port: number;
  readonly socketPath: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly weights: { readonly passing: number; readonly warning: number };
  readonly taggedAddresses: Readonly<Record<string, ServiceAddress>>;
  /** How peers connect to the service through its cluster's mesh, if the cluster has one. */
  readonly mesh?: {
    readonly native: boolean;
    readonly sni: readonly string[];
    readonly spiffeId: readonly string[];
    readonly protocol: string;
  };
}

export interface InstanceCheck {
  readonly id: string;
  readonly name: string;
  /** `passing`, `warning`, `critical` or `maintenance`. */
  readonly status: string;
  readonly notes: string;
  readonly output: string;
  readonly type: string;
  /** Empty for a check of the whole node. */
  readonly serviceId: string;
  readonly serviceName: string;
  readonly serviceTags: readonly string[];
  /** Only for checks registered in this cluster. */
  readonly definition?: CheckDefinition;
}

export interface Instance {
  readonly node: InstanceNode;
  readonly service: InstanceService;
  readonly checks: readonly InstanceCheck[];
}
