/**
 * An instance of a service, as the state keeps it whether it was registered here or came from a peer: the node, the
 * service on it, and the checks of both. Plain JSON with the field names of this project; the wire and the API have
 * their own.
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
  /** Empty for an ordinary service; others are parts of a mesh, such as `connect-proxy`. */
  readonly kind: string;
  readonly tags: readonly string[];
  readonly address: string;
  readonly port: number;
  readonly socketPath: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly weights: { readonly passing: number; readonly warning: number };
  readonly taggedAddresses: Readonly<Record<string, ServiceAddress>>;
  /** How the service is reached through the mesh of its cluster; only where it has one. */
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
  /** How it is run, where that was told; of checks that were registered here. */
  readonly definition?: CheckDefinition;
}

export interface Instance {
  readonly node: InstanceNode;
  readonly service: InstanceService;
  readonly checks: readonly InstanceCheck[];
}
