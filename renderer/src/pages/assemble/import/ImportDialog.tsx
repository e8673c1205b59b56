import { Button, Group, Modal } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { DigestChip } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { authorsLine, countOf, formatBytes } from '../../../format.ts';
import { useMayContribute } from '../../../state/session.ts';
import classes from '../assemble.module.css';
import { canImport, type PackImport, useImports } from './importDropped.ts';

/** Shows dropped pack files: what each contains and whether it is intact. Imports them on request. */
export default function ImportDialog() {
  const { imports, importAll, close } = useImports();
  const mayContribute = useMayContribute();
  const queries = useQueryClient();
  const count = imports.filter(canImport).length;
  const isBusy = imports.some(({ state }) => state === 'importing');
  const isDone = imports.length > 0 && imports.every(({ isHeld }) => isHeld === true);
  const run = async () => {
    await importAll();
    await queries.invalidateQueries();
  };
  return (
    <Modal
      opened={imports.length > 0}
      onClose={close}
      size="lg"
      title={imports.length === 1 ? 'Import a pack' : `Import ${imports.length} packs`}
    >
      <ul className={`${classes.packs} plain stack gap-3 scroll`}>
        {imports.map((each) => (
          <li key={each.pack.id}>
            <ImportRow item={each} onOpen={close} />
          </li>
        ))}
      </ul>
      {!mayContribute && <p className="muted">You are a visitor. You cannot import packs on this node.</p>}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={close}>
          {isDone ? 'Done' : 'Cancel'}
        </Button>
        {mayContribute && !isDone && (
          <Button onClick={() => void run()} loading={isBusy} disabled={count === 0}>
            {count > 1 ? `Import ${count} packs` : 'Import'}
          </Button>
        )}
      </Group>
    </Modal>
  );
}

function ImportRow({ item, onOpen }: { item: PackImport; onOpen: () => void }) {
  const { pack, error } = item;
  const { record, fingerprint, id } = pack;
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <div className="card stack gap-1 wrap-anywhere">
      <h3>
        {item.isHeld ? (
          <Link to={`/packs/${id}`} onClick={onOpen}>
            {record.title}
          </Link>
        ) : (
          record.title
        )}
      </h3>
      <p className="muted small">{authorsLine(record.authors)}</p>
      <p className="cluster gap-4">
        <span className="numeric">
          {countOf(record.files.length, 'file')}, {formatBytes(bytes)}
        </span>
        <DigestChip digest={fingerprint} label="fingerprint" />
      </p>
      <CheckResult item={item} />
      {error !== undefined && <ErrorNote error={error} />}
    </div>
  );
}

function CheckResult({ item: { check, isHeld, state } }: { item: PackImport }) {
  if (!check) return <output className="muted small">Verifying the files…</output>;
  if (!check.ok) {
    return (
      <p role="alert" className="line gap-2 compact strong bad">
        <IconAlertTriangle size={16} aria-hidden /> Damaged: {check.faults.join(', ')}. Ask the sender for the
        pack file again.
      </p>
    );
  }
  return (
    <output className="line gap-2 compact strong good">
      <IconCircleCheck size={16} aria-hidden />
      {state === 'imported'
        ? 'Imported'
        : isHeld
          ? 'Verified; this archive already has it'
          : 'Verified: every file matches the record'}
    </output>
  );
}
