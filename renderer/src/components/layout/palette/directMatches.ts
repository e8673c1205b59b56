/** A page that pasted text refers to by its format alone. */
export interface DirectMatch {
  to: string;
  label: string;
}

/** Recognises ids, digests, ledger entry numbers, subject paths and URLs. Returns none for plain words. */
export function directMatches(text: string, origin: string): DirectMatch[] {
  const pasted = text.trim();
  if (/^pk_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/packs/${pasted}`, label: `Pack ${pasted}` }];
  if (/^st_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/studies/${pasted}`, label: `Study ${pasted}` }];
  if (/^so_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/sources/${pasted}`, label: `Source ${pasted}` }];
  const digest = pasted.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(digest)) {
    return [
      { to: `/packs/pk_${digest.slice(0, 20)}`, label: 'Pack with this fingerprint' },
      { to: `/timeline?q=${digest}`, label: 'Events of the object with this digest' },
    ];
  }
  if (/^#?\d{1,15}$/.test(pasted)) {
    const number = Number(pasted.replace('#', ''));
    return number > 0 ? [{ to: `/ledger?from=${number}`, label: `Ledger entry ${number}` }] : [];
  }
  if (/^[a-z0-9-]+(\/[a-z0-9-]+)+$/.test(pasted))
    return [{ to: `/nodes/${pasted}`, label: `Subject ${pasted}` }];
  return addressHits(pasted, origin);
}

/**
 * The typed text if it is an address that can be watched, with or without its scheme. Pages of this interface are not.
 */
export function watchableAddress(text: string, origin: string): string | undefined {
  const typed = text.trim();
  const isHost = /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}(:\d+)?([/?#]\S*)?$/i.test(typed);
  const url = URL.parse(isHost ? `https://${typed}` : typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  return url.origin === origin ? undefined : typed;
}

function addressHits(pasted: string, origin: string): DirectMatch[] {
  const url = URL.parse(pasted);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return [];
  if (url.origin === origin) return [{ to: url.pathname + url.search, label: `Go to ${url.pathname}` }];
  const query = encodeURIComponent(pasted);
  return [
    { to: `/sources?q=${query}`, label: 'Watched sources with this URL' },
    { to: `/timeline?q=${query}`, label: 'Events of this URL' },
  ];
}
