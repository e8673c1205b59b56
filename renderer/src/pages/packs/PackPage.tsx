import { Button, Radio, Spoiler, Stack, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconArrowRight,
  IconBuildingBank,
  IconCertificate,
  IconDownload,
  IconFlag,
  IconStack2,
  IconVersions,
} from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import { newFlagSchema, type Pack } from '../../../../shared/archive/pack.ts';
import { FLAG_REASONS, type FlagReason } from '../../../../shared/archive/vocabulary.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { AddToCase } from '../../components/content/AddToCase.tsx';
import { Citation } from '../../components/content/Citation.tsx';
import { Comments } from '../../components/content/Comments.tsx';
import { FindingsSection } from '../../components/content/Findings.tsx';
import { DamagedFiles } from '../../components/content/Fixity.tsx';
import { Markdown } from '../../components/content/Markdown.tsx';
import { Withheld } from '../../components/content/Withheld.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, rulesOf, useItemForm } from '../../components/forms/DialogForm.tsx';
import { ItemPage, Page, Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes } from '../../format.ts';
import { useIsOwner, useMayContribute } from '../../state/session.ts';
import { DepositDialog, PackDeposits } from './PackDeposits.tsx';
import { hiddenFiles, PackFacts, PackFiles, PackResults } from './PackFacts.tsx';
import { PackAuthors, PackBadges, PackLink } from './PackHeader.tsx';
import { ComparedResults, PackReplications, ReplicationVerdict } from './PackReplications.tsx';
import { PackVerify } from './PackVerify.tsx';
import classes from './packs.module.css';
import { SetFiles } from './SetFiles.tsx';

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
  const isOwner = useIsOwner();
  const { set } = pack.evidence;
  const kind = set ? 'set' : 'pack';
  return (
    <Page title={pack.title} actions={<PackActions pack={pack} />}>
      {pack.evidence.superseded_by && (
        <p className="hint mb-2 cluster gap-2">
          <IconArrowRight size={17} aria-hidden /> A newer version of this pack exists:{' '}
          <PackLink id={pack.evidence.superseded_by} />
          <Link to={`/packs/${pack.id}/compare/${pack.evidence.superseded_by}`}>Compare</Link>
        </p>
      )}
      {pack.evidence.part_of && (
        <p className="hint mb-2 cluster gap-2">
          <IconStack2 size={17} aria-hidden /> Part of <PackLink id={pack.evidence.part_of} />
        </p>
      )}
      <DamagedFiles pack={pack.id} kind={kind} />
      <div className={classes.columns}>
        <div className="shrink">
          <div className="mb-5 stack gap-3">
            <PackAuthors authors={pack.authors} />
            <PackBadges pack={pack} />
            {pack.files.length > 0 && (
              <Withheld target={{ pack: pack.id }} what={`the files of this ${kind}`} />
            )}
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
          {set ? <SetFiles pack={pack} set={set} /> : <PackFiles pack={pack} />}
          <PackReplications pack={pack} />
          <PackVerify pack={pack} />
          <Citation item={pack.id} />
          {isOwner && <PackDeposits pack={pack.id} />}
          <FindingsSection
            target={{ kind: 'pack', id: pack.id }}
            // Of a set, only the list of its files is a file of this pack.
            objects={(set ? [] : pack.files)
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
  const [depositing, depositDialog] = useDisclosure(false);
  const { set, withheld = [], released = [] } = pack.evidence;
  const download = (
    <>
      {hiddenFiles(pack, isOwner).length === 0 && (
        <Button
          component="a"
          href={urlOf(set ? 'downloadSet' : 'readPackFile', { params: { id: pack.id } })}
          download
          variant="default"
          leftSection={<IconDownload size={17} aria-hidden />}
        >
          {set ? 'Download set' : 'Download pack'}
        </Button>
      )}
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
      {/* A new version is one of the whole set. */}
      {!pack.evidence.part_of && (
        <Button
          component={Link}
          to={`/assemble?supersedes=${pack.id}`}
          variant="default"
          leftSection={<IconVersions size={17} aria-hidden />}
        >
          New version
        </Button>
      )}
      <Button variant="default" leftSection={<IconFlag size={17} aria-hidden />} onClick={dialog.open}>
        Flag
      </Button>
      {isOwner && <AddToCase item={{ kind: 'pack', id: pack.id }} size="sm" />}
      {/* A repository would get only the list of the files of a set. */}
      {isOwner && !set && withheld.length + released.length === 0 && (
        <Button
          variant="default"
          leftSection={<IconBuildingBank size={17} aria-hidden />}
          onClick={depositDialog.open}
        >
          Deposit…
        </Button>
      )}
      <DepositDialog pack={pack.id} opened={depositing} onClose={depositDialog.close} />
      <FormDialog opened={flagging} onClose={dialog.close} title="Flag pack">
        <FlagForm packId={pack.id} />
      </FormDialog>
    </>
  );
}

function Flags({ flags }: { flags: Pack['flags'] }) {
  return (
    <ul className={`${classes.flags} plain mb-5`} aria-label="Flags">
      {flags.map((flag) => (
        <li key={flag.at + flag.reason} className="cluster gap-3">
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
        <div className="stack gap-3 measure">
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
              <p className="keep-lines wrap-anywhere">{method.text}</p>
            </Spoiler>
          )}
        </div>
      )}
    </Section>
  );
}

const MAX_RESULTS = 12;

/** A short view of a pack next to the list. */
export function PackPreview({ id }: { id: string }) {
  const pack = useCall('readPack', { params: { id } }, { keepPrevious: true });
  if (pack.error) return <ErrorNote error={pack.error} onRetry={() => void pack.refetch()} />;
  if (!pack.data) return <p className="muted">Loading…</p>;
  const { title, authors, summary, results, files, evidence } = pack.data;
  const shown = Object.entries(results).slice(0, MAX_RESULTS);
  const more = Object.keys(results).length - shown.length;
  return (
    <div className={`${classes.pane} stack gap-4 items-start`}>
      <h2>
        <Link to={`/packs/${id}`} className="quiet-link">
          {title}
        </Link>
      </h2>
      <PackAuthors authors={authors.slice(0, 6)} />
      <PackBadges pack={pack.data} />
      {summary && (
        <Spoiler maxHeight={200} showLabel="Show full summary" hideLabel="Show less">
          <Markdown text={summary} />
        </Spoiler>
      )}
      {shown.length > 0 && <PackResults results={Object.fromEntries(shown)} />}
      {more > 0 && <p className="muted small">{countOf(more, 'more result')}</p>}
      <p>
        {countOf(evidence.set?.files ?? files.length, 'file')},{' '}
        {formatBytes((evidence.set ?? evidence).bytes)}
      </p>
      <Button component={Link} to={`/packs/${id}`} variant="default">
        Open pack
      </Button>
      <PackFacts pack={pack.data} />
    </div>
  );
}

/** The reasons as a person reads them. */
const FLAG_REASON_LABELS: Record<FlagReason, string> = {
  privacy: 'Contains private data',
  copyright: 'Violates someone’s copyright',
  fabricated: 'Data or results appear to be fabricated',
  unsafe: 'Could harm someone',
  duplicate: 'Duplicate of another pack',
  other: 'Other (explain in the note)',
};

/** Reports a problem with a pack publicly. The pack itself is not changed. */
function FlagForm({ packId }: { packId: string }) {
  const { form, save } = useItemForm({
    route: 'flagPack',
    initialValues: { reason: '', note: '' },
    validate: (flag) => (flag.reason === '' ? { reason: 'Choose a reason.' } : rulesOf(newFlagSchema)(flag)),
    request: (values) => ({ params: { id: packId }, body: newFlagSchema.parse(values) }),
  });
  return (
    <DialogForm form={form} save={save} submit="Flag pack">
      <p className="muted small">
        Flags are public. They are shown on the pack and recorded in the ledger permanently. The pack itself
        does not change.
      </p>
      <Radio.Group label="Reason" {...form.getInputProps('reason')}>
        <Stack gap="xs" mt="xs">
          {FLAG_REASONS.map((each) => (
            <Radio key={each} value={each} label={FLAG_REASON_LABELS[each]} />
          ))}
        </Stack>
      </Radio.Group>
      <Textarea
        label="Note"
        description={form.values.reason === 'other' ? 'Required for this reason.' : 'Optional.'}
        maxRows={10}
        {...form.getInputProps('note')}
      />
    </DialogForm>
  );
}
