import { Link } from 'react-router';
import type { Withholding } from '../../../../shared/node/withheld.ts';
import { useCall } from '../../api/useCall.ts';
import { captureTime, viewPath } from '../../format/names.ts';
import { formatCount } from '../../format/size.ts';

/** How something that is withheld or was given up is called. */
export interface Named {
  /** Its title or address; its id until that is known. */
  text: string;
  /** What it is: `Page capture`. */
  kind: string;
  /** The same in the middle of a sentence: `this page capture`. */
  what: string;
  /** Its page. */
  to: string;
  /** The source that first brought it. */
  source?: string | undefined;
}

export function NameOf({ named: { text, to } }: { named: Named }) {
  return <Link to={to}>{text}</Link>;
}

/** Returns what a withholding names. */
export function useNameOf({ sha256, retrieval, pack, page }: Withholding): Named {
  const ofObject = useObjectName(sha256);
  const ofPack = useCall('readPack', { params: { id: pack ?? '' } }, { enabled: pack !== null });
  const ofPage = useCall('readPage', { params: { id: page ?? '' } }, { enabled: page !== null });
  const ofRetrieval = useCall(
    'proveRetrieval',
    { params: { id: retrieval ?? 0 } },
    { enabled: retrieval !== null },
  );
  if (pack !== null) {
    const text = ofPack.data?.title ?? pack;
    return { text, kind: 'Files of a pack', what: 'the files of this pack', to: `/packs/${pack}` };
  }
  if (page !== null) {
    const text = ofPage.data?.title || (ofPage.data?.url ?? page);
    return { text, kind: 'Page capture', what: 'this page capture', to: `/pages/${page}` };
  }
  if (retrieval !== null) {
    const got = ofRetrieval.data?.retrieval;
    return {
      text: got?.url ?? `Retrieval ${formatCount(retrieval)}`,
      kind: `Retrieval ${formatCount(retrieval)}`,
      what: 'this retrieval',
      to: got?.sha256
        ? viewPath({ sha256: got.sha256, source: got.source, at: captureTime(got) })
        : `/ledger`,
    };
  }
  return ofObject;
}

/** Returns how an object is called: by its file in a pack, or by the address that it came from. */
export function useObjectName(sha256: string | null): Named {
  const { data } = useCall(
    'lookUpDigests',
    { query: { sha256: sha256 ?? '' } },
    { enabled: sha256 !== null },
  );
  const digest = sha256 ?? '';
  const found = data?.items[0];
  if (found?.pack && !found.source) {
    const { id, path } = found.pack;
    return { text: path, kind: 'File of a pack', what: 'this file', to: `/packs/${id}` };
  }
  return {
    text: found?.source?.url ?? `Object ${digest.slice(0, 12)}`,
    kind: `Object ${digest.slice(0, 8)}`,
    what: 'this object',
    to: viewPath({ sha256: digest, source: found?.source?.id }),
    source: found?.source?.id,
  };
}
