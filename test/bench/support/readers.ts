import { Agent, get } from 'node:http';

/*
 * Clients at a steady rate: `node readers.ts <milliseconds> <url>…` requests each URL at this interval, without waiting
 * for the responses, until its standard input ends. Then it prints the duration of every response.
 */

const [every = '20', ...urls] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const waits = urls.map((): number[] => []);
let open = 0;
let isOver = false;

function ask(url: string, taken: number[]): void {
  const started = performance.now();
  open += 1;
  get(url, { agent }, (answer) => {
    answer.resume();
    answer.on('end', () => {
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}.`);
      taken.push(performance.now() - started);
      open -= 1;
      finish();
    });
  });
}

function finish(): void {
  if (!isOver || open > 0) return;
  console.log(JSON.stringify(waits));
  agent.destroy();
}

const timers = urls.map((url, index) => setInterval(() => ask(url, waits[index] ?? []), Number(every)));
process.stdin.resume().on('end', () => {
  for (const timer of timers) clearInterval(timer);
  isOver = true;
  finish();
});
