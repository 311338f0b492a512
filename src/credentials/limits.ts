/** Every bound of credentials, each with its reason. */

/** A sentence or two; it stands in lists and in the audit log. */
export const DESCRIPTION_CHARACTERS_MAX = 1_024;
/** Every request of a token looks through its grants. */
export const GRANTS_MAX = 128;
/** Likewise the names in one grant. */
export const GRANT_NAMES_MAX = 128;
/**
 * Names in all grants of a token: a change of the largest token (its row, and the audit log's before and after) fits
 * into one commit of 1 MiB, which is what etcd takes unless it is told otherwise.
 */
export const TOKEN_NAMES_MAX = 2_048;
/** A hundred years: past it a slip of the pen is likelier than a wish. */
export const TOKEN_LIFE_MS_MAX = 100 * 366 * 24 * 60 * 60 * 1_000;
/** A UUID has 36 characters; what is longer than this is not looked up. */
export const SECRET_CHARACTERS_MAX = 256;
/** Entries of the audit log in one answer, unless the request says; and the most that it can say. */
export const AUDIT_ENTRIES_DEFAULT = 100;
export const AUDIT_ENTRIES_MAX = 10_000;
/** Entries that are read for one answer, where the caller may see few of them: twice the longest answer. */
export const AUDIT_SCANNED_MAX = 20_000;
/** Characters of those: the longest answer of entries of usual size. Of the largest, with a megabyte each, it is eight. */
export const AUDIT_CHARACTERS_MAX = 8 * 1024 * 1024;
/** A shorter passphrase can be guessed from a stolen export. */
export const PASSPHRASE_CHARACTERS_MIN = 12;
