import { DEFAULT_SETTINGS, type Settings, settingsSchema } from '../../../../shared/node/settings.ts';

/** The settings of the form. The others are set on the pages Sharing and Alerts. */
export const formSchema = settingsSchema.omit({ tls: true, repair_from_peers: true, smtp: true });

/** The form values as text. Numbers may be empty while typing, and lists are written with commas. */
export type Typed = Record<keyof typeof formSchema.shape, number | string>;

export function typedOf({
  tls: _encryption,
  repair_from_peers: _peers,
  smtp: _mail,
  ...settings
}: Settings): Typed {
  const { retry_delays_seconds, timestamp_authorities, witnesses, offload_after_days, keep_local_gb } =
    settings;
  return {
    ...settings,
    retry_delays_seconds: retry_delays_seconds.join(', '),
    timestamp_authorities: timestamp_authorities.join(' '),
    witnesses: witnesses.map(({ url, key }) => `${url} ${key}`).join(' '),
    offload_after_days: offload_after_days ?? '',
    keep_local_gb: keep_local_gb ?? '',
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
