import type { SettingPage } from '../../../../shared/node/pages.ts';
import { DEFAULT_SETTINGS, type Settings, settingsSchema } from '../../../../shared/node/settings.ts';

export interface SettingField {
  name: keyof Typed;
  label: string;
  /** What the setting does, including at its limits. */
  meaning: string;
  unit: string;
  /** Whether an empty field means no limit; otherwise a number is needed. */
  isOptional?: boolean;
  /** Whether the field needs the full width. */
  isWide?: boolean;
}

export interface SettingGroup {
  page: SettingPage;
  title: string;
  meaning: string;
  fields: readonly SettingField[];
}

/** All settings of the form, grouped by topic. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  {
    page: 'storage',
    title: 'Storage',
    meaning:
      'How much this node stores. When a limit is reached, nothing is deleted and new data is rejected.',
    fields: [
      {
        name: 'data_cap_gb',
        label: 'Maximum archive size',
        meaning: 'The total size of all stored bytes.',
        unit: 'GB',
      },
      {
        name: 'min_free_disk_gb',
        label: 'Minimum free disk space',
        meaning: 'On the disk with the data folder.',
        unit: 'GB',
      },
      {
        name: 'max_set_gb',
        label: 'Largest set',
        meaning: 'Data of more than 50 MB is published as a set of packs. 0 allows no sets from drafts.',
        unit: 'GB',
      },
    ],
  },
  {
    page: 'collection',
    title: 'Collection',
    meaning: 'How sources are checked, unless a source has its own settings.',
    fields: [
      {
        name: 'collection_every_minutes',
        label: 'Check every',
        meaning: 'Time between two checks of a source.',
        unit: 'minutes',
      },
      {
        name: 'max_object_mb',
        label: 'Maximum object size',
        meaning: 'Larger objects are not stored; the check fails.',
        unit: 'MB',
      },
      {
        name: 'request_timeout_seconds',
        label: 'Request timeout',
        meaning: 'A slower attempt fails with a timeout.',
        unit: 'seconds',
      },
      {
        name: 'retry_delays_seconds',
        label: 'Retry delays',
        meaning: 'Pauses between retries within one check, in seconds. A list, such as 2, 10.',
        unit: 'seconds',
      },
      {
        name: 'unavailable_after_failures',
        label: 'Unavailable after',
        meaning: 'Consecutive failed checks.',
        unit: 'checks',
      },
      {
        name: 'gone_after_minutes',
        label: 'Gone after',
        meaning: 'Minimum time between two responses with status 404 or 410.',
        unit: 'minutes',
      },
      {
        name: 'per_host_concurrency',
        label: 'Requests per host',
        meaning: 'Maximum number of parallel requests to one host.',
        unit: 'requests',
      },
      {
        name: 'per_host_pause_ms',
        label: 'Pause per host',
        meaning: 'Time between two requests to one host.',
        unit: 'ms',
      },
      {
        name: 'collection_concurrency',
        label: 'Requests in total',
        meaning: 'Maximum number of parallel requests to all hosts.',
        unit: 'requests',
      },
      {
        name: 'user_agent',
        label: 'Collector name (User-Agent)',
        meaning:
          'Sent with every request. If you watch many pages, include an address at which site owners can reach you. The first word is matched against robots.txt. At most 200 printable ASCII characters.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    page: 'collection',
    title: 'Pages',
    meaning:
      'How pages are drawn when they are captured as a person sees them. If a page reaches a limit, its capture is cut off there and marked as cut off.',
    fields: [
      { name: 'page_width', label: 'Window width', meaning: '', unit: 'pixels' },
      { name: 'page_height', label: 'Window height', meaning: '', unit: 'pixels' },
      {
        name: 'page_timeout_seconds',
        label: 'Time per page',
        meaning: 'Time to load the page and to scroll to its end and back.',
        unit: 'seconds',
      },
      {
        name: 'page_max_requests',
        label: 'Requests per page',
        meaning: 'Later requests are refused.',
        unit: 'requests',
      },
      {
        name: 'page_max_mb',
        label: 'Maximum page size',
        meaning: 'The total size of everything that the page loads.',
        unit: 'MB',
      },
      {
        name: 'page_concurrency',
        label: 'Pages at once',
        meaning: 'Each needs up to a few hundred megabytes of memory.',
        unit: 'pages',
      },
    ],
  },
  {
    page: 'network',
    title: 'Visitor limits',
    meaning:
      'How much visitors may add while the node is open for contributions. These limits never apply to you, but your writes count towards the totals.',
    fields: [
      { name: 'ip_writes_per_hour', label: 'Writes per address and hour', meaning: '', unit: 'writes' },
      { name: 'ip_writes_per_day', label: 'Writes per address and day', meaning: '', unit: 'writes' },
      { name: 'ip_mb_per_day', label: 'Data per address and day', meaning: '', unit: 'MB' },
      { name: 'site_writes_per_hour', label: 'Total writes per hour', meaning: '', unit: 'writes' },
      { name: 'site_gb_per_day', label: 'Total data per day', meaning: '', unit: 'GB' },
    ],
  },
  {
    page: 'network',
    title: 'Public address',
    meaning:
      'The URL at which a TLS-terminating proxy publishes this node. Permissions are set on the Sharing page.',
    fields: [
      {
        name: 'public_url',
        label: 'URL',
        meaning:
          'Scheme, host and port, such as https://archive.example. Used for links. Cookies at this address require TLS. The proxy must forward the Host header. The option “serve --public-url” overrides this.',
        unit: '',
        isWide: true,
      },
      {
        name: 'trusted_proxy',
        label: 'Proxy IP address',
        meaning:
          'Only if the proxy runs on another machine: the IP address from which X-Forwarded-For is trusted.',
        unit: '',
      },
      {
        name: 'contact_email',
        label: 'Contact e-mail',
        meaning: 'Published to harvesters (OAI-PMH) while the node is shared, and visible to everyone.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    page: 'proof',
    title: 'Timestamps',
    meaning:
      'An independent authority signs that the ledger existed at a given time (RFC 3161). It receives only a hash. One timestamp covers every earlier entry.',
    fields: [
      {
        name: 'timestamp_authorities',
        label: 'Authorities',
        meaning:
          'URLs, separated by spaces. Use two independent authorities if you can. Only these are ever asked.',
        unit: '',
        isWide: true,
      },
      {
        name: 'timestamp_every_hours',
        label: 'Timestamp every',
        meaning: 'While the ledger grows.',
        unit: 'hours',
      },
    ],
  },
  {
    page: 'proof',
    title: 'Witnesses',
    meaning:
      'A witness cosigns each checkpoint of this node, but only if it continues the previous one. Readers who trust the same witness cannot be shown different histories.',
    fields: [
      {
        name: 'witnesses',
        label: 'Witnesses',
        meaning:
          'The URL and the key of each, separated by spaces. For another Strongroom node, use its address with /witness, and the key at /witness/key.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    page: 'network',
    title: 'Updates',
    meaning:
      'Once a day the version of this node can be compared with a file on the web. The page Help says whether there is a newer one. Nothing is installed.',
    fields: [
      {
        name: 'update_url',
        label: 'File with the newest version',
        meaning: 'The URL of a JSON file with “version”. Leave empty to look for nothing.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    page: 'collection',
    title: 'Records of repositories',
    meaning: 'How a record is found when a pack begins with a DOI.',
    fields: [
      {
        name: 'doi_resolver',
        label: 'DOI resolver',
        meaning: 'The address to which the DOI is appended.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    page: 'storage',
    title: 'Stored bytes',
    meaning:
      'Disks can lose data silently. All stored bytes are re-hashed regularly to find damage while it can still be repaired.',
    fields: [
      {
        name: 'audit_every_days',
        label: 'Full integrity check every',
        meaning:
          'Every byte is re-hashed once in this period: in small steps every ten minutes, at most 20 MB/s. Each copy is read back once in this period, too, which a cloud store may charge for. 0 turns both off.',
        unit: 'days',
      },
      {
        name: 'drill_every_days',
        label: 'Restore test every',
        meaning:
          'Each copy is restored into a temporary folder: all records and some objects. The result is verified and removed. 0 turns these tests off.',
        unit: 'days',
      },
    ],
  },
  {
    page: 'copies',
    title: 'Space on this disk',
    meaning:
      'Objects that a copy holds can be offloaded: deleted from this disk and read from the copy. Without the copy or the network they cannot be read. An object is offloaded only after the copy has been read back. Its last copy cannot be removed until the object is back on this disk.',
    fields: [
      {
        name: 'offload_after_days',
        label: 'Offload objects after',
        meaning: 'Days since an object was stored. Leave empty to keep objects of any age.',
        unit: 'days',
        isOptional: true,
      },
      {
        name: 'keep_local_gb',
        label: 'Keep on this disk',
        meaning: 'The newest objects up to this size stay on this disk. Leave empty for no limit.',
        unit: 'GB',
        isOptional: true,
      },
    ],
  },
];

/** The settings that are switches elsewhere: on the pages Sharing, Alerts and Ledger, and beside the form. */
const ELSEWHERE = {
  tls: true,
  repair_from_peers: true,
  smtp: true,
  timestamps_answered: true,
  collect_on_low_battery: true,
  collect_when_metered: true,
} as const;

/** The settings of the form. */
export const formSchema = settingsSchema.omit(ELSEWHERE);

type FormSettings = Pick<Settings, keyof typeof formSchema.shape>;

/** The form values as text. Numbers may be empty while typing, and lists are written with commas. */
export type Typed = Record<keyof FormSettings, number | string>;

export function typedOf(settings: Settings): Typed {
  const names = formSchema.keyof().options;
  const shown = Object.fromEntries(names.map((name) => [name, settings[name]])) as FormSettings;
  return {
    ...shown,
    retry_delays_seconds: shown.retry_delays_seconds.join(', '),
    timestamp_authorities: shown.timestamp_authorities.join(' '),
    witnesses: shown.witnesses.map(({ url, key }) => `${url} ${key}`).join(' '),
    offload_after_days: shown.offload_after_days ?? '',
    keep_local_gb: shown.keep_local_gb ?? '',
  };
}

export function settingsOf(typed: Typed): Record<keyof Typed, unknown> {
  const orNone = (value: number | string) => (value === '' ? null : value);
  return {
    ...typed,
    retry_delays_seconds: wordsOf(typed.retry_delays_seconds, /[\s,;]+/).map(Number),
    timestamp_authorities: wordsOf(typed.timestamp_authorities, /\s+/),
    witnesses: witnessesOf(wordsOf(typed.witnesses, /\s+/)),
    offload_after_days: orNone(typed.offload_after_days),
    keep_local_gb: orNone(typed.keep_local_gb),
  };
}

function wordsOf(text: number | string, separator: RegExp): string[] {
  return String(text).split(separator).filter(Boolean);
}

/** Each witness is its URL and its key. */
function witnessesOf(words: readonly string[]): { url: string; key: string }[] {
  return words.flatMap((url, index) => (index % 2 === 0 ? [{ url, key: words[index + 1] ?? '' }] : []));
}

/** The default of a setting in words. */
export function defaultText(name: keyof Settings): string {
  const defaults: Partial<Record<keyof Settings, number | string>> = typedOf(DEFAULT_SETTINGS);
  return String(defaults[name] ?? '') || 'none';
}
