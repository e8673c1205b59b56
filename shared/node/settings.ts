import { z } from 'zod';
import { smtpChangeSchema, smtpSchema } from '../alerts/smtp.ts';
import { type Witness, witnessSchema } from '../ledger/ledger.ts';
import { WRITE_LIMITS } from '../limits.ts';
import { rawKeyOf } from '../proof/ledger/signedNote.ts';
import { namedObject } from '../values/list.ts';
import { httpUrlSchema, instantSchema, isHttpUrl, publicUrlSchema } from '../values/text.ts';
import { VERSION } from '../version.ts';

const count = (max: number) => z.int().min(0, 'At least 0.').max(max, `At most ${max}.`);
const amount = (max: number) => z.number().min(0, 'At least 0.').max(max, `At most ${max}.`);

/** The message for an invalid public URL. It must be an origin, because links are built from it. */
export const ORIGIN_RULE = 'Give the scheme, host and port only, as in https://archive.example.';

/** Returns whether a URL has only a scheme (http or https), host and port, and optionally a trailing slash. */
export function isOrigin(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && isHttpUrl(address) && (address === url.origin || address === `${url.origin}/`);
}

const limits = {
  data_cap_gb: amount(1_000_000),
  min_free_disk_gb: amount(1_000_000),
  ip_writes_per_hour: count(1_000_000_000),
  ip_writes_per_day: count(1_000_000_000),
  ip_mb_per_day: amount(1_000_000_000),
  site_writes_per_hour: count(1_000_000_000),
  site_gb_per_day: amount(1_000_000),
  max_set_gb: amount(1_000_000).meta({
    description: 'The largest set that a draft or a folder is published as. 0: a draft is a single pack.',
  }),
};

const collection = {
  collection_every_minutes: z.int().min(1, 'At least 1.').max(525_600, 'At most a year.'),
  unavailable_after_failures: z.int().min(1, 'At least 1.').max(1000, 'At most 1000.'),
  gone_after_minutes: amount(525_600),
  retry_delays_seconds: z.array(amount(3600)).max(10, 'At most 10 retries.'),
  per_host_concurrency: z.int().min(1, 'At least 1.').max(100, 'At most 100.'),
  per_host_pause_ms: count(3_600_000),
  collection_concurrency: z.int().min(1, 'At least 1.').max(1000, 'At most 1000.'),
  request_timeout_seconds: z.number().min(0.1, 'At least 0.1.').max(3600, 'At most 3600.'),
  max_object_mb: z.number().gt(0, 'More than 0.').max(10_000, 'At most 10000.'),
  audit_every_days: z.int().min(0, 'At least 0.').max(3650, 'At most ten years.').meta({
    description:
      'The time in which every stored byte is hashed again, and each copy is read back. 0 disables both.',
  }),
  drill_every_days: z.int().min(0, 'At least 0.').max(3650, 'At most ten years.').meta({
    description:
      'The time between two restore drills of a copy: it is restored into a temporary folder, verified and removed. 0 disables them.',
  }),
  collect_on_low_battery: z.boolean().meta({
    description: 'Whether rounds start by themselves while the machine runs on a battery below 20 %.',
  }),
  collect_when_metered: z.boolean().meta({
    description:
      'Whether rounds start by themselves on a metered network. Only NetworkManager on Linux says that one is.',
  }),
  user_agent: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/, 'Printable ASCII, at most 200 characters.')
    .meta({
      description:
        'The User-Agent header, with a contact for site operators. Its product name selects the rules of robots.txt.',
    }),
};

const pages = {
  page_width: z.int().min(200, 'At least 200.').max(4000, 'At most 4000.'),
  page_height: z.int().min(200, 'At least 200.').max(4000, 'At most 4000.'),
  page_timeout_seconds: z.number().min(1, 'At least 1.').max(300, 'At most 300.'),
  page_max_requests: z.int().min(1, 'At least 1.').max(5000, 'At most 5000.'),
  page_max_mb: z.number().gt(0, 'More than 0.').max(1000, 'At most 1000.'),
  page_concurrency: z.int().min(1, 'At least 1.').max(8, 'At most 8.'),
};

const offload = {
  offload_after_days: amount(36_500).nullable().meta({
    description:
      'Objects stored longer ago than this may be offloaded once a copy was read back and holds them. null: none is offloaded by its age.',
  }),
  keep_local_gb: amount(1_000_000).nullable().meta({
    description:
      'The newest objects of this size stay on this disk; older ones may leave it once a copy was read back and holds them. null: no limit.',
  }),
};

/** Whether each of these is another witness. */
function areOthers(witnesses: readonly Witness[]): boolean {
  return new Set(witnesses.map(({ key }) => rawKeyOf(key) ?? key)).size === witnesses.length;
}

const proof = {
  timestamp_authorities: z
    .array(publicUrlSchema)
    .max(10, 'At most 10 authorities.')
    .refine((urls) => new Set(urls).size === urls.length, 'Name each authority once.')
    .meta({
      description:
        'The URLs of the RFC 3161 authorities that timestamp the ledger; none by default. They are public with each timestamp, also their queries.',
    }),
  timestamps_answered: z.boolean().meta({
    description:
      'Whether the owner has answered whether timestamp authorities may be asked. The interface does not ask again then. Only those named in `timestamp_authorities` are ever asked.',
  }),
  timestamp_every_hours: z
    .number()
    .min(0.1, 'At least 0.1.')
    .max(8_760, 'At most a year.')
    .meta({ description: 'The time between two timestamps by one authority while the ledger grows.' }),
  witnesses: z
    .array(witnessSchema)
    .max(20, 'At most 20 witnesses.')
    .refine(areOthers, 'Name each witness once. One key is one witness, whatever its name is.')
    .meta({ description: 'The witnesses that cosign the checkpoints (C2SP tlog-witness); none by default.' }),
};

const reach = {
  tls: z.boolean().meta({
    description:
      'Whether the node also serves HTTPS, on the next port, with the certificate in `tls.pem` of its data folder. Tokens and invitations are then refused over plain HTTP from other machines.',
  }),
  public_url: z
    .string()
    .max(300, 'At most 300 characters.')
    .refine((url) => url === '' || isOrigin(url), ORIGIN_RULE)
    .meta({
      description: 'The public URL of the node behind a TLS-terminating proxy; empty if there is none.',
    }),
  trusted_proxy: z.union([z.literal(''), z.ipv4(), z.ipv6()], 'Give an IP address, or leave it empty.').meta({
    description:
      'The IP address of that proxy if it runs on another machine. A proxy on this machine is always trusted.',
  }),
  contact_email: z
    .union([z.literal(''), z.email().max(254)], 'Give an e-mail address, or leave it empty.')
    .meta({
      description:
        'The e-mail address for harvesters (OAI-PMH, `adminEmail`). Every reader of the node can see it.',
    }),
};

const repositories = {
  doi_resolver: publicUrlSchema
    .refine((url) => !/[?#]/.test(url), 'Give an address without a query.')
    .meta({ description: 'The address that resolves a DOI, which is appended to it.' }),
};

const peers = {
  repair_from_peers: z.boolean().meta({
    description:
      'Whether objects that an audit finds damaged or missing are fetched from peers that hold them.',
  }),
};

const updates = {
  update_url: z.union([z.literal(''), httpUrlSchema]).meta({
    description:
      'The URL of a JSON file with `version`, the newest one, and optionally `url`, where to get it. It is fetched once a day and compared with the version of this node. Empty: nothing is fetched.',
  }),
};

const alerts = {
  smtp: smtpSchema
    .nullable()
    .meta({ description: 'The mail server by which alerts are sent; null if there is none.' }),
};

export const settingsSchema = namedObject('Settings', {
  ...limits,
  ...collection,
  ...pages,
  ...offload,
  ...proof,
  ...reach,
  ...repositories,
  ...peers,
  ...updates,
  ...alerts,
});
export type Settings = z.output<typeof settingsSchema>;
export type SettingsChange = Partial<Settings>;
/** A change as the owner sends it: with the password of the mail server, which is not kept among the settings. */
export const settingsChangeSchema = settingsSchema
  .extend({ smtp: smtpChangeSchema.nullable() })
  .partial()
  .meta({ id: 'SettingsChange' });
export type RequestedSettings = z.output<typeof settingsChangeSchema>;

/** The settings of a new archive. */
export const DEFAULT_SETTINGS: Settings = {
  ...WRITE_LIMITS,
  max_set_gb: 50,
  collection_every_minutes: 60,
  unavailable_after_failures: 3,
  gone_after_minutes: 10,
  retry_delays_seconds: [2, 10],
  per_host_concurrency: 2,
  per_host_pause_ms: 1000,
  collection_concurrency: 32,
  request_timeout_seconds: 60,
  max_object_mb: 100,
  audit_every_days: 30,
  drill_every_days: 30,
  page_width: 1280,
  page_height: 800,
  page_timeout_seconds: 30,
  page_max_requests: 500,
  page_max_mb: 50,
  page_concurrency: 2,
  offload_after_days: null,
  keep_local_gb: null,
  timestamp_authorities: [],
  timestamps_answered: false,
  timestamp_every_hours: 24,
  witnesses: [],
  user_agent: `Strongroom/${VERSION} (+https://strongroom.example)`,
  tls: false,
  public_url: '',
  trusted_proxy: '',
  contact_email: '',
  doi_resolver: 'https://doi.org',
  repair_from_peers: false,
  collect_on_low_battery: false,
  collect_when_metered: false,
  update_url: '',
  smtp: null,
};

export const clockSchema = namedObject('Clock', {
  now: instantSchema,
  /** How far it jumped ahead while the node ran, if that must be confirmed; else 0. */
  ahead_seconds: z.int().min(0),
});

const sharingModeSchema = z.enum(['off', 'read', 'contribute']);
export type SharingMode = z.output<typeof sharingModeSchema>;
export const sharingSchema = z
  .strictObject({ mode: sharingModeSchema, require_invitation: z.boolean() })
  .meta({ id: 'Sharing' });
export type Sharing = z.output<typeof sharingSchema>;
/** Without `require_invitation`, turning contributions on requires invitations, and any other change keeps what is set. */
export const sharingChangeSchema = sharingSchema
  .partial({ require_invitation: true })
  .meta({ id: 'SharingChange' });
export type SharingChange = z.output<typeof sharingChangeSchema>;
export const DEFAULT_SHARING: Sharing = { mode: 'off', require_invitation: false };

/** A released version: three numbers. */
export const versionSchema = z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/, 'A version is three numbers.');

/** The file that the setting `update_url` names. Other members are ignored. */
export const releaseFileSchema = z.object({
  version: versionSchema,
  url: httpUrlSchema.max(1_000).optional(),
});

export const updatesSchema = namedObject('Updates', {
  /** The version of this node. */
  version: z.string(),
  /** The newest version that the file named; null if it was not read. */
  newest: versionSchema.nullable(),
  /** Whether that version is newer than this one. */
  is_newer: z.boolean(),
  /** Where to get it, as the file says. */
  url: z.string().nullable(),
  /** null if the setting `update_url` is empty, or the file was not asked for yet. */
  checked_at: instantSchema.nullable(),
  /** Why the file could not be read, as a sentence. */
  error: z.string().nullable(),
});
export type Updates = z.output<typeof updatesSchema>;
