/** The names that another cluster tells of itself: they are kept, and shown in records, lists and the audit log. */
import { REMOTE_CHARACTERS_MAX } from '../limits.ts';

/** What datacenters and partitions are named with, in Accord and in Consul; empty where there is none. */
const REMOTE_NAME = new RegExp(`^[A-Za-z0-9._-]{0,${REMOTE_CHARACTERS_MAX}}$`);

/** Whether it can be the name of a partition or a datacenter. */
export const isRemoteName = (name: string): boolean => REMOTE_NAME.test(name);

/** What is wanted instead, for messages. */
export const REMOTE_NAME_WANTED = `at most ${REMOTE_CHARACTERS_MAX} letters, digits, '.', '-' or '_'`;
