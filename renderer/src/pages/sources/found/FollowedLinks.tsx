import type { WatchedSource } from '../../../../../shared/collection/source.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { countOf } from '../../../format/size.ts';
import { FoundList } from './FoundList.tsx';

const WORDS = {
  links: 'Links of this page',
  feed: 'Items of this feed',
  sitemap: 'Addresses of this sitemap',
} as const;

/** On the page of a followed source: what its newest version links to or lists, and what became of it. */
export function FollowedLinks({ source }: { source: WatchedSource }) {
  const { follow, follow_run: run } = source;
  if (!follow) return null;
  return (
    <Section title={WORDS[follow.kind]}>
      <p className="muted small">
        {run ? (
          <>
            {run.problem && `${run.problem} `}
            {countOf(run.listed, 'address', 'addresses')} read <TimeText at={run.at} />, of which{' '}
            {run.matched} {run.matched === 1 ? 'matches' : 'match'}. At most {follow.limit} are taken.
          </>
        ) : (
          'They are read at the next check.'
        )}
      </p>
      <FoundList source={source.id} />
    </Section>
  );
}
