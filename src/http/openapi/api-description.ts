/** What is said about an API besides its endpoints. */
import type { TSchema } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';

/** What all endpoints of a service have in common. */
export interface Conventions {
  /** By name. For an endpoint that is not open, any one of them will do. */
  readonly securitySchemes: Readonly<Record<string, object>>;
  /** The media type of bodies and answers. */
  readonly jsonType: string;
  /** An error in every form that a client can ask for: its media type and its schema. */
  readonly errorForms: Readonly<Record<string, TSchema>>;
  /** What can be refused; the errors of the edge unless given. */
  readonly errors?: readonly DescribedError[];
  /** Headers that errors can have besides those of all services. */
  readonly errorHeaders?: readonly Parameter[];
  /** What every such endpoint takes and tells besides what it declares itself. */
  readonly query: (endpoint: Endpoint) => readonly Parameter[];
  readonly headers: (endpoint: Endpoint) => readonly Parameter[];
  readonly answerHeaders: (endpoint: Endpoint) => readonly Parameter[];
}

/** An error for the description. */
export interface DescribedError {
  readonly code: string;
  readonly status: number;
  /** What it says to a caller. */
  readonly meaning: string;
  /** `writes`: those alone who send or change something; `strays`: where there is no endpoint for the method. */
  readonly toldTo: 'all' | 'writes' | 'strays';
}

export interface ApiDescription {
  readonly title: string;
  readonly version: string;
  /** How the paths of the API begin: the others are left out. */
  readonly prefix: string;
  readonly conventions: Conventions;
}

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;
