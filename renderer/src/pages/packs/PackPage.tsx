import { Button, Spoiler } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconArrowRight, IconCertificate, IconDownload, IconFlag, IconVersions } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { Citation } from '../../components/content/Citation.tsx';
import { Comments } from '../../components/content/Comments.tsx';
import { AddToCase } from '../../components/content/findings/AddToCase.tsx';
import { FindingsSection } from '../../components/content/findings/FindingsSection.tsx';
import { Markdown } from '../../components/content/Markdown.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ItemPage } from '../../components/layout/ItemPage.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useIsOwner, useMayContribute } from '../../state/session.ts';
import { FLAG_REASON_LABELS, FlagDialog } from './FlagDialog.tsx';
import { PackFacts } from './PackFacts.tsx';
import { PackFiles } from './PackFiles.tsx';
import { PackAuthors, PackBadges } from './PackHeader.tsx';
import { PackLink } from './PackLink.tsx';
import classes from './PackPage.module.css';
import { PackResults } from './PackResults.tsx';
import { ComparedResults } from './replications/ComparedResults.tsx';
import { PackReplications } from './replications/PackReplications.tsx';
import { ReplicationVerdict } from './replications/ReplicationVerdict.tsx';
import { PackVerify } from './verify/PackVerify.tsx';

/** The files in which a quoted passage is looked for. */
const MAX_QUOTED_FILES = 5;

/** The page of one pack. */
export default function PackPage() {
  const { id = '' } = useParams();
  const query = useCall('readPack', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Pack"
      list={{ to: '/packs', label: 'All packs' }}
      missing={
        <>
          This node does not have the pack <code className="wrap-anywhere">{id}</code>. Another node may have
          it.
        </>
      }
    >
      {(pack) => <WholePack key={pack.id} pack={pack} />}
    </ItemPage>
  );
}

function WholePack({ pack }: { pack: Pack }) {
  return (
    <Page title={pack.title} actions={<PackActions pack={pack} />}>
      {pack.evidence.superseded_by && (
        <p className={classes.notice}>
          <IconArrowRight size={17} aria-hidden /> A newer version of this pack exists:{' '}
          <PackLink id={pack.evidence.superseded_by} />
          <Link to={`/packs/${pack.id}/compare/${pack.evidence.superseded_by}`}>Compare</Link>
        </p>
      )}
      <div className={classes.columns}>
        <div className={classes.main}>
          <div className={classes.head}>
            <PackAuthors authors={pack.authors} />
            <PackBadges pack={pack} />
          </div>
          {pack.flags.length > 0 && <Flags flags={pack.flags} />}
          <ReplicationVerdict pack={pack} />
          {pack.summary && (
            <Section title="Summary">
              <Markdown text={pack.summary} />
            </Section>
          )}
          {Object.keys(pack.results).length > 0 && (
            <Section title="Results">
              {pack.replicates ? (
                <ComparedResults pack={pack} original={pack.replicates.pack} />
              ) : (
                <PackResults results={pack.results} />
              )}
            </Section>
          )}
          <Method method={pack.method} />
          <PackFiles files={pack.files} bytes={pack.evidence.bytes} />
          <PackReplications pack={pack} />
          <PackVerify pack={pack} />
          <Citation item={pack.id} />
          <FindingsSection
            target={{ kind: 'pack', id: pack.id }}
            objects={pack.files
              .slice(0, MAX_QUOTED_FILES)
              .map(({ sha256, path }) => ({ sha256, name: path }))}
          />
          <Comments item={pack.id} />
        </div>
        <aside className={classes.facts} aria-label="Details">
          <PackFacts pack={pack} />
        </aside>
      </div>
    </Page>
  );
}

function PackActions({ pack }: { pack: Pack }) {
  const mayContribute = useMayContribute();
  const isOwner = useIsOwner();
  const [flagging, dialog] = useDisclosure(false);
  const download = (
    <>
      <Button
        component="a"
        href={urlOf('readPackFile', { params: { id: pack.id } })}
        download
        variant="default"
        leftSection={<IconDownload size={17} aria-hidden />}
      >
        Download pack
      </Button>
      <Button
        component="a"
        href={urlOf('readPackEvidence', { params: { id: pack.id } })}
        download
        variant="default"
        leftSection={<IconCertificate size={17} aria-hidden />}
      >
        Evidence file
      </Button>
    </>
  );
  if (!mayContribute) return download;
  return (
    <>
      {download}
      <Button
        component={Link}
        to={`/assemble?supersedes=${pack.id}`}
        variant="default"
        leftSection={<IconVersions size={17} aria-hidden />}
      >
        New version
      </Button>
      <Button variant="default" leftSection={<IconFlag size={17} aria-hidden />} onClick={dialog.open}>
        Flag
      </Button>
      {isOwner && <AddToCase item={{ kind: 'pack', id: pack.id }} size="sm" />}
      <FlagDialog packId={pack.id} opened={flagging} onClose={dialog.close} />
    </>
  );
}

function Flags({ flags }: { flags: Pack['flags'] }) {
  return (
    <ul className={classes.flags} aria-label="Flags">
      {flags.map((flag) => (
        <li key={flag.at + flag.reason}>
          <IconFlag size={16} aria-hidden /> <strong>{FLAG_REASON_LABELS[flag.reason]}</strong>
          {flag.note && <span className="wrap-anywhere">{flag.note}</span>}
          <span className="muted small">
            <TimeText at={flag.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Method({ method }: { method: Pack['method'] }) {
  return (
    <Section title="Method">
      {method === null ? (
        <p className="muted">No method.</p>
      ) : (
        <div className={classes.method}>
          <p className="muted">
            {method.complete
              ? 'The uploader states that the method is complete.'
              : 'The uploader states that the method is not complete.'}
          </p>
          {method.link && (
            <p className="wrap-anywhere">
              <a href={method.link} target="_blank" rel="noopener noreferrer nofollow">
                {method.link}
              </a>
            </p>
          )}
          {method.text && (
            <Spoiler maxHeight={360} showLabel="Show full method" hideLabel="Show less">
              <p className={classes.methodText}>{method.text}</p>
            </Spoiler>
          )}
        </div>
      )}
    </Section>
  );
}
