import { execFileSync, type StdioOptions } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Another process may be installing packages. */
const APT_WAITS_SECONDS = 600;
/** Tries again while another process updates the lists, because apt's own option does not wait for those. */
const UPDATE =
  'until why=$(apt-get update -q 2>&1); do case $why in *lists/lock*) sleep 1 ;; *) echo "$why" >&2; exit 1 ;; esac; done';

/** Whether this process can install Debian's packages: it runs as root, on Debian or a system made from it. */
function canInstall(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/os-release')) return false;
  return /^ID(_LIKE)?=.*debian/m.test(readFileSync('/etc/os-release', 'utf8'));
}

/** Installs packages if that is possible here, and says so. Nothing happens otherwise. */
export function installDebianPackages(what: string, packages: readonly string[]): void {
  if (!canInstall()) return;
  process.stderr.write(`Installing ${what} from Debian's packages, once.\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, stdio: ['ignore', 'ignore', 'inherit'] as StdioOptions };
  execFileSync('sh', ['-c', UPDATE], { ...options, timeout: APT_WAITS_SECONDS * 1000 });
  const quietly = ['-q', '-y', '-o', `DPkg::Lock::Timeout=${APT_WAITS_SECONDS}`, '--no-install-recommends'];
  // An installation that was killed must be finished before another one.
  execFileSync('dpkg', ['--configure', '-a'], options);
  execFileSync('apt-get', ['install', ...quietly, ...packages], options);
}
