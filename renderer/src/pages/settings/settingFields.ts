import type { Typed } from './settingText.ts';

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
  title: string;
  meaning: string;
  fields: readonly SettingField[];
}

/** All settings, grouped by topic. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  {
    title: 'Storage',
    meaning:
      'How much this node stores. When a limit is reached, nothing is deleted and new data is rejected.',
    fields: [
      {
        name: 'data_cap_gb',
        label: 'Maximum archive size',
        meaning: 'All stored bytes together.',
        unit: 'GB',
      },
      {
        name: 'min_free_disk_gb',
        label: 'Minimum free disk space',
        meaning: 'On the disk with the data folder.',
        unit: 'GB',
      },
    ],
  },
  {
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
        meaning: 'A slower attempt fails as a timeout.',
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
    title: 'Public address',
    meaning:
      'The URL at which a TLS-terminating proxy publishes this node. Permissions are set on the Sharing page.',
    fields: [
      {
        name: 'public_url',
        label: 'URL',
        meaning:
          'Scheme, host and port, such as https://archive.example. Used for links; its cookies require TLS. The proxy must forward the Host header. The option “serve --public-url” overrides this.',
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
    title: 'Timestamps',
    meaning:
      'An independent authority signs that the ledger existed at a time (RFC 3161). It receives a hash and nothing else. One timestamp covers every entry before it.',
    fields: [
      {
        name: 'timestamp_authorities',
        label: 'Authorities',
        meaning:
          'Their URLs, with spaces between them. Two that do not depend on each other are better than one.',
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
    title: 'Witnesses',
    meaning:
      'A witness cosigns each checkpoint of this node, but only if it continues the one before. Two readers who trust one witness cannot be shown two histories.',
    fields: [
      {
        name: 'witnesses',
        label: 'Witnesses',
        meaning:
          'The URL and the key of each, with spaces between them. Of another Strongroom node: its address with /witness, and what it shows at /witness/key.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    title: 'Stored bytes',
    meaning:
      'Disks can lose data silently. All stored bytes are re-hashed regularly to find damage while it can be repaired.',
    fields: [
      {
        name: 'audit_every_days',
        label: 'Re-check everything within',
        meaning:
          'Each byte is re-hashed once in this period, in small steps every ten minutes, at 20 MB/s at most. 0 turns these checks off.',
        unit: 'days',
      },
    ],
  },
  {
    title: 'Space on this disk',
    meaning:
      'Objects that a copy holds may leave this disk. They are then read from the copy: without it, or without the network, they cannot be read. An object leaves only after the copy was read back. Its last copy cannot be removed before it is back.',
    fields: [
      {
        name: 'offload_after_days',
        label: 'Objects may leave after',
        meaning: 'Days since an object was stored. Empty: no object leaves by its age.',
        unit: 'days',
        isOptional: true,
      },
      {
        name: 'keep_local_gb',
        label: 'Keep on this disk',
        meaning: 'The newest objects of this size stay here. Empty: no limit.',
        unit: 'GB',
        isOptional: true,
      },
    ],
  },
];
