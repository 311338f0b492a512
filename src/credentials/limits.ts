/** The limits of ACL tokens, partitions, exports and the audit log. */

/**
 * Maximum characters in the description of an ACL token or partition, and in a text of team access other than a name.
 * Lists and audit entries contain them.
 */
export const TEXT_CHARACTERS_MAX = 1_024;
/** Every request scans the grants of its token [ACL-16]. */
export const GRANTS_MAX = 128;
/** Names in one grant. Every request scans the names in all grants of its token. */
export const GRANT_NAMES_MAX = 128;
/**
 * Names in all grants of a token. A change of the largest token writes its row and both versions for the audit log,
 * which fit into one commit of 1 MiB, the default limit of etcd.
 */
export const TOKEN_NAMES_MAX = 2_048;
/** 100 years. A longer time is more likely a typo [ACL-35]. */
export const TOKEN_TTL_MS_MAX = 100 * 366 * 24 * 60 * 60 * 1_000;
/**
 * Maximum characters in a presented secret ID or team access token. Secret IDs have 36 and tokens 90. The server
 * rejects longer values without a lookup [ACL-6].
 */
export const SECRET_CHARACTERS_MAX = 256;
/** The default and the maximum of `limit` for the audit log [SRV-90]. */
export const AUDIT_ENTRIES_DEFAULT = 100;
export const AUDIT_ENTRIES_MAX = 10_000;
/** Entries examined for one response, including entries hidden from the caller. Twice the longest response [SRV-92]. */
export const AUDIT_SCANNED_MAX = 20_000;
/** Maximum characters in the examined entries: 10,000 entries of typical size, or eight of the largest size (1 MiB). */
export const AUDIT_CHARACTERS_MAX = 8 * 1024 * 1024;
/** A shorter passphrase of a stolen export can be guessed [SRV-50]. */
export const PASSPHRASE_CHARACTERS_MIN = 12;
