import { Link } from 'react-router';
import type { Source } from '../../../../../shared/collection/source.ts';
import { useCall } from '../../../api/useCall.ts';
import { ObjectText } from '../../../components/content/object/ObjectText.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { viewPath } from '../../../format/viewPath.ts';

/** Kinds without text. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set(['image', 'other']);

/** What the current version of a source says, and since when. */
export function CurrentText({ source, sha256 }: { source: Source; sha256: string }) {
  const query = { source: source.id };
  const { data: view } = useCall('readObjectView', { params: { sha256 }, query });
  const hasText = view && !WITHOUT_TEXT.has(view.kind);
  return (
    <Section
      title={view && !hasText ? 'Current version' : 'Current text'}
      actions={<Link to={viewPath({ sha256, source: source.id, at: view?.at })}>View current version</Link>}
    >
      {view && (
        <p className="small muted">
          Version of <TimeText at={view.at} show="exact" />
          {source.last_checked_at && (
            <>
              , last checked <TimeText at={source.last_checked_at} />
            </>
          )}
        </p>
      )}
      {hasText && <ObjectText sha256={sha256} />}
    </Section>
  );
}
