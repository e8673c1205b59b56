import type { ReactNode } from 'react';
import type { Connection } from '../../../../../shared/collection/connection.ts';
import { protocolWords, serverWords } from '../../../../../shared/collection/connectionWords.ts';
import { ObjectDigest } from '../object/ObjectDigest.tsx';

/** Returns how a retrieval was had, as facts for a list: the server, the protocol, the names and the certificates. */
export function connectionFacts(connection: Connection | undefined): [string, ReactNode][] {
  if (!connection) return [];
  const { dns, tls } = connection;
  return [
    ['Answered by', serverWords(connection)],
    ['Protocol', protocolWords(connection)],
    ['Addresses of the name', dns !== null && dns.join(', ')],
    ['Certificates', tls && tls.certificates.length > 0 && <Chain key="chain" tls={tls} />],
  ];
}

/** The server's certificate, then its issuers'; each can be downloaded. */
function Chain({ tls }: { tls: NonNullable<Connection['tls']> }) {
  return (
    <>
      {tls.certificates.map(({ sha256 }, index) => (
        <span key={sha256}>
          <ObjectDigest sha256={sha256} label={`digest of certificate ${index + 1}`} />{' '}
          <a href={`/archive/${sha256}`} download={`certificate-${sha256.slice(0, 8)}.cer`}>
            {index === 0 ? 'server' : 'issuer'}
          </a>{' '}
        </span>
      ))}
    </>
  );
}
