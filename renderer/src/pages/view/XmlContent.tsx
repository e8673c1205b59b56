import { useQuery } from '@tanstack/react-query';
import { ObjectText } from '../../components/content/object/ObjectText.tsx';
import { TextBox } from '../../components/content/preview/TextBox.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { formatBytes } from '../../format/size.ts';
import { type Feed, parseFeed } from './parseFeed.ts';
import classes from './ViewPage.module.css';

const MAX_XML_BYTES = 8_388_608;
const SHOWN_CHARACTERS = 300_000;
const SHOWN_ENTRIES = 200;

interface XmlContentProps {
  /** The path of the bytes. */
  address: string;
  /** The address that relative links refer to. */
  base: string;
  sha256: string;
}

/** A feed as a list of its entries; other XML as it is written. */
export function XmlContent({ address, base, sha256 }: XmlContentProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['xml', address],
    queryFn: async ({ signal }) => {
      const response = await fetch(address, { signal });
      if (!response.ok) throw new Error(`The object could not be loaded (status ${response.status}).`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (bytes.length > MAX_XML_BYTES) return null;
      const xml = decodeXml(bytes, response.headers.get('Content-Type') ?? '');
      return { xml, feed: parseFeed(xml, base) };
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <output className="muted">Loading…</output>;
  if (data === null) {
    return (
      <div className={classes.stack}>
        <p className="muted">
          The object is larger than {formatBytes(MAX_XML_BYTES)}. Only its text is shown.
        </p>
        <ObjectText sha256={sha256} />
      </div>
    );
  }
  if (data.feed) return <Entries feed={data.feed} />;
  return <TextBox text={data.xml.slice(0, SHOWN_CHARACTERS)} label="Content of the object" isBounded />;
}

/** Decodes by the charset of the content type, else by the XML declaration, else as UTF-8. */
function decodeXml(bytes: Uint8Array, contentType: string): string {
  const declaration = new TextDecoder('latin1').decode(bytes.subarray(0, 200));
  const label =
    /charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType)?.[1] ??
    /^[^<]*<\?xml[^>]*encoding\s*=\s*["']([^"']+)/i.exec(declaration)?.[1] ??
    'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder().decode(bytes);
    throw error;
  }
}

function Entries({ feed: { title, entries } }: { feed: Feed }) {
  const shown = entries.slice(0, SHOWN_ENTRIES);
  return (
    <section className={classes.sheet} aria-label="Entries of the feed">
      {title && <h2>{title}</h2>}
      {entries.length === 0 && <p className="muted">The feed has no entries.</p>}
      <ol className={classes.entries}>
        {shown.map((entry, index) => (
          // Entries may repeat.
          <li key={index}>
            <h3>{entry.title || 'Without a title'}</h3>
            <p className="small muted">
              {[entry.date, entry.author].filter(Boolean).join(', ')}{' '}
              {entry.link && <EntryLink link={entry.link} />}
            </p>
            {entry.summary && <p>{entry.summary}</p>}
          </li>
        ))}
      </ol>
      {shown.length < entries.length && (
        <p className="small muted">
          The first {shown.length} of {entries.length} entries are shown.
        </p>
      )}
    </section>
  );
}

function EntryLink({ link }: { link: string }) {
  return (
    <a href={link} target="_blank" rel="noopener noreferrer nofollow" className="wrap-anywhere">
      {link}
    </a>
  );
}
