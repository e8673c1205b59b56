import { useCall } from '../../../api/useCall.ts';
import { usePackForm } from '../formContext.ts';

/** What the original pack of a replication reports under the same name. */
export function OriginalValue({ name }: { name: string }) {
  const { draft } = usePackForm();
  const id = draft.replicates?.pack ?? null;
  const original = useCall('readPack', { params: { id: id ?? '' } }, { enabled: id !== null });
  const results = original.data?.results ?? {};
  const key = name.trim();
  if (id === null || !Object.hasOwn(results, key)) return null;
  return (
    <p className="muted small wrap-anywhere" style={{ gridColumn: '-2 / -1' }}>
      Original: <span className="numeric">{String(results[key])}</span>
    </p>
  );
}
