import type { Peer } from '../../../../../shared/node/peer.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import classes from './Peers.module.css';

/** The key and the certificate of a peer, for the owner to compare. */
export function PinnedFacts({ peer }: { peer: Peer }) {
  return (
    <>
      <Pinned what="Key" text={peer.key} />
      {peer.tls_fingerprint && <Pinned what="Certificate (SHA-256)" text={peer.tls_fingerprint} />}
      <p className="muted small">
        Pinned <TimeText at={peer.pinned_at} />. Compare {peer.tls_fingerprint ? 'them' : 'it'} with what the
        owner of that node reads aloud. Last mirrored:{' '}
        {peer.mirrored_at ? <TimeText at={peer.mirrored_at} /> : 'never'}.
      </p>
    </>
  );
}

function Pinned({ what, text }: { what: string; text: string }) {
  return (
    <p className={`${classes.key} small`}>
      <span>
        {what}: <span className="mono">{text}</span>
      </span>
      <CopyButton text={text} what={`the ${what.toLowerCase()}`} />
    </p>
  );
}
