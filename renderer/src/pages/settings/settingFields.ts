import type { Settings } from '../../../../shared/settings.ts';

export interface SettingField {
  name: keyof Settings;
  label: string;
  /** What it does, and what happens at its edge. */
  meaning: string;
  unit: string;
  /** Whether what is typed needs a whole line. */
  isWide?: boolean;
}

export interface SettingGroup {
  title: string;
  meaning: string;
  fields: readonly SettingField[];
}

/** Every setting by what it is about, in words. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  {
    title: 'Room',
    meaning:
      'How much this node keeps. When a limit is reached nothing is deleted: what comes new is refused.',
    fields: [
      {
        name: 'data_cap_gb',
        label: 'Archive at most',
        meaning: 'All stored bytes together.',
        unit: 'GB',
      },
      {
        name: 'min_free_disk_gb',
        label: 'Leave free on the disk',
        meaning: 'On the disk that holds the data folder.',
        unit: 'GB',
      },
    ],
  },
  {
    title: 'Collection',
    meaning: 'How sources are checked, where a source has no rule of its own.',
    fields: [
      {
        name: 'collection_every_minutes',
        label: 'Check every',
        meaning: 'How long after a check the next one is due.',
        unit: 'minutes',
      },
      {
        name: 'max_object_mb',
        label: 'Object at most',
        meaning: 'A larger body is a failure; nothing is cut short.',
        unit: 'MB',
      },
      {
        name: 'request_timeout_seconds',
        label: 'Wait for an answer',
        meaning: 'Then the attempt counts as timed out.',
        unit: 'seconds',
      },
      {
        name: 'retry_delays_seconds',
        label: 'Try again after',
        meaning: 'Within one check, before a failure counts. A list, such as 2, 10.',
        unit: 'seconds',
      },
      {
        name: 'unavailable_after_failures',
        label: 'Unavailable after',
        meaning: 'So many failed checks in a row.',
        unit: 'checks',
      },
      {
        name: 'gone_after_minutes',
        label: 'Gone after',
        meaning: 'So long between two answers 404 or 410.',
        unit: 'minutes',
      },
      {
        name: 'per_host_concurrency',
        label: 'At once from one host',
        meaning: 'Requests under way to the same host.',
        unit: 'requests',
      },
      {
        name: 'per_host_pause_ms',
        label: 'Pause between them',
        meaning: 'From one request to a host to the next.',
        unit: 'ms',
      },
      {
        name: 'collection_concurrency',
        label: 'At once from all hosts',
        meaning: 'Requests under way altogether.',
        unit: 'requests',
      },
      {
        name: 'user_agent',
        label: 'Name of the collector',
        meaning:
          'Sites see it with each request. Whoever watches more than a few should put an address in it at which they can be reached. robots.txt is read for its first word. At most 200 printable ASCII characters.',
        unit: '',
        isWide: true,
      },
    ],
  },
  {
    title: 'Writes of visitors',
    meaning:
      'What visitors may add while the node is shared for contributions. You are never refused by these; what you write counts as part of what everybody writes.',
    fields: [
      { name: 'ip_writes_per_hour', label: 'Writes from one address, per hour', meaning: '', unit: 'writes' },
      { name: 'ip_writes_per_day', label: 'Writes from one address, per day', meaning: '', unit: 'writes' },
      { name: 'ip_mb_per_day', label: 'Data from one address, per day', meaning: '', unit: 'MB' },
      { name: 'site_writes_per_hour', label: 'Writes from everybody, per hour', meaning: '', unit: 'writes' },
      { name: 'site_gb_per_day', label: 'Data from everybody, per day', meaning: '', unit: 'GB' },
    ],
  },
  {
    title: 'Public address',
    meaning:
      'Where the world reaches this node through a proxy that ends TLS. Who may do what is set on the page Sharing.',
    fields: [
      {
        name: 'public_url',
        label: 'Address',
        meaning:
          'Scheme, host and port, as in https://archive.example. Links use it, and cookies that are set there need TLS. The proxy must pass the Host header on. “serve --public-url” goes before it.',
        unit: '',
        isWide: true,
      },
      {
        name: 'trusted_proxy',
        label: 'The proxy’s own address',
        meaning:
          'Only where the proxy runs on another machine: its IP address, from which X-Forwarded-For is believed.',
        unit: '',
      },
    ],
  },
  {
    title: 'Stored bytes',
    meaning:
      'Disks forget: everything stored is read and hashed again, so that damage is found while it can be mended.',
    fields: [
      {
        name: 'audit_every_days',
        label: 'Read everything within',
        meaning:
          'Each byte is re-hashed once in this time, a little every ten minutes, at 20 MB a second at most. 0 switches it off.',
        unit: 'days',
      },
    ],
  },
];
