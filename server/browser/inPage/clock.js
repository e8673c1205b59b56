/*
 * Runs in every document before its own scripts, and in every worker. It is sent to the browser as text, so it uses nothing
 * outside of the function.
 */

/**
 * Gives a document a clock that stands still until the driver advances it, and random numbers from a seed, so that a page
 * asks for the same addresses and draws the same picture whenever it is drawn. Closes what would reach past the driver:
 * service workers, WebRTC, pop-ups.
 *
 * The clock is advanced by `window[Symbol.for('strongroom.tick')](ms)`, which runs the timers and animation frames that are
 * due, one task each.
 *
 * @param {number} start where the clock starts, in milliseconds since the epoch
 * @param {string} seed 16 hex digits
 */
export function installClock(start, seed) {
  const scope = /** @type {any} */ (globalThis);
  const TICK = Symbol.for('strongroom.tick');
  if (scope[TICK]) return;
  const isDocument = typeof scope.document === 'object';
  const define = (/** @type {any} */ target, /** @type {PropertyKey} */ name, /** @type {any} */ value) =>
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: false });

  // The clock. A script that waits in a loop for time to pass would wait for ever, so after many readings in one task the
  // clock goes on with each: by the number of readings, which is the same whenever the page is drawn.
  const FREE_READINGS = 1000;
  let now = start;
  let readings = 0;
  const read = () => {
    readings += 1;
    if (readings > FREE_READINGS) now += 1;
    return now;
  };

  const RealDate = Date;
  /** @type {any} */
  const PageDate = function Date(/** @type {any[]} */ ...values) {
    if (!new.target) return new RealDate(read()).toString();
    return Reflect.construct(RealDate, values.length > 0 ? values : [Math.floor(read())], new.target);
  };
  Object.defineProperty(PageDate, 'length', { value: 7 });
  PageDate.prototype = RealDate.prototype;
  define(RealDate.prototype, 'constructor', PageDate);
  define(PageDate, 'now', function now() {
    return Math.floor(read());
  });
  define(PageDate, 'parse', RealDate.parse);
  define(PageDate, 'UTC', RealDate.UTC);
  define(scope, 'Date', PageDate);
  define(scope.performance, 'now', function now() {
    return read() - start;
  });
  Object.defineProperty(scope.performance, 'timeOrigin', { value: start, configurable: true });
  const { DateTimeFormat } = Intl;
  for (const name of /** @type {const} */ (['formatToParts'])) {
    const real = DateTimeFormat.prototype[name];
    define(
      DateTimeFormat.prototype,
      name,
      /** @this {any} */ function (/** @type {any} */ date) {
        return real.call(this, date === undefined ? Math.floor(read()) : date);
      },
    );
  }
  const format = Object.getOwnPropertyDescriptor(DateTimeFormat.prototype, 'format');
  if (format?.get)
    Object.defineProperty(DateTimeFormat.prototype, 'format', {
      configurable: true,
      get() {
        const real = format.get?.call(this);
        return (/** @type {any} */ date) => real(date === undefined ? Math.floor(read()) : date);
      },
    });

  // Random numbers: xorshift128, seeded by the seed and its reverse.
  const state = new Uint32Array([
    Number.parseInt(seed.slice(0, 8), 16) || 1,
    Number.parseInt(seed.slice(8, 16), 16) || 2,
    0x9e3779b9,
    0x243f6a88,
  ]);
  const next = () => {
    let t = state[3] ?? 0;
    const s = state[0] ?? 0;
    state[3] = state[2] ?? 0;
    state[2] = state[1] ?? 0;
    state[1] = s;
    t ^= t << 11;
    t ^= t >>> 8;
    state[0] = t ^ s ^ (s >>> 19);
    return state[0] ?? 0;
  };
  for (let i = 0; i < 20; i += 1) next();
  define(Math, 'random', function random() {
    return ((next() >>> 5) * 67_108_864 + (next() >>> 6)) / 9_007_199_254_740_992;
  });
  const { crypto } = scope;
  if (crypto) {
    define(crypto, 'getRandomValues', function getRandomValues(/** @type {any} */ array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i += 1) bytes[i] = next() & 255;
      return array;
    });
    if (crypto.randomUUID)
      define(crypto, 'randomUUID', function randomUUID() {
        const hex = (/** @type {number} */ digits) =>
          (next() >>> 0).toString(16).padStart(8, '0').slice(0, digits);
        return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(8)}${hex(4)}`;
      });
  }

  if (!isDocument) {
    // A worker keeps its own timers; its clock goes on with its readings only.
    define(scope, TICK, async () => {});
    return;
  }

  // Timers and animation frames.
  /** @typedef {{ at: number, order: number, run: (at: number) => void, every: number | null }} Timer */
  /** @type {Map<number, Timer>} */
  const timers = new Map();
  const FRAME_MS = 1000 / 60;
  let lastId = 0;
  let depth = 0;
  const add = (
    /** @type {number} */ at,
    /** @type {(at: number) => void} */ run,
    /** @type {number | null} */ every = null,
  ) => {
    lastId += 1;
    timers.set(lastId, { at, order: lastId, run, every });
    return lastId;
  };
  const callable = (/** @type {any} */ handler, /** @type {any[]} */ values) => () => {
    // Text as a handler is evaluated, as HTML says.
    if (typeof handler === 'function') handler.apply(scope, values);
    else (0, scope.eval)(String(handler));
  };
  const delay = (/** @type {any} */ ms) =>
    Math.max(depth > 4 ? 4 : 1, Math.min(Number(ms) || 0, 2_147_483_647));
  define(
    scope,
    'setTimeout',
    function setTimeout(/** @type {any} */ handler, /** @type {any} */ ms, /** @type {any[]} */ ...values) {
      return add(now + delay(ms), callable(handler, values));
    },
  );
  define(
    scope,
    'setInterval',
    function setInterval(/** @type {any} */ handler, /** @type {any} */ ms, /** @type {any[]} */ ...values) {
      return add(now + delay(ms), callable(handler, values), delay(ms));
    },
  );
  const remove = (/** @type {any} */ id) => void timers.delete(Number(id));
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback'])
    define(scope, name, remove);
  define(scope, 'requestAnimationFrame', function requestAnimationFrame(/** @type {any} */ callback) {
    // A frame that begins now has begun already, also where its time was rounded.
    const frame = start + (Math.floor((now - start) / FRAME_MS + 0.001) + 1) * FRAME_MS;
    return add(frame, (at) => callback.call(scope, at - start));
  });
  define(scope, 'requestIdleCallback', function requestIdleCallback(/** @type {any} */ callback) {
    return add(now + 1, () => callback.call(scope, { didTimeout: false, timeRemaining: () => 10 }));
  });

  /** Lets promises and messages that the last task caused run. */
  const { MessageChannel } = scope;
  const nextTask = () =>
    new Promise((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        resolve(undefined);
      };
      channel.port2.postMessage(0);
    });
  const { reportError } = scope;
  const MAX_TASKS = 2000;
  define(scope, TICK, async function tick(/** @type {number} */ ms) {
    const end = now + ms;
    for (let tasks = 0; tasks < MAX_TASKS; tasks += 1) {
      /** @type {[number, Timer] | undefined} */
      let due;
      for (const entry of timers) {
        const [, { at, order }] = entry;
        if (at <= end && (!due || at < due[1].at || (at === due[1].at && order < due[1].order))) due = entry;
      }
      if (!due) break;
      const [id, timer] = due;
      now = Math.max(now, timer.at);
      readings = 0;
      if (timer.every === null) timers.delete(id);
      else Object.assign(timer, { at: now + timer.every });
      depth += 1;
      try {
        timer.run(timer.at);
      } catch (error) {
        reportError(error);
      }
      await nextTask();
    }
    depth = 0;
    now = Math.max(now, end);
    readings = 0;
  });

  // What would reach past the driver, or wait for a person.
  const { attachShadow } = scope.Element.prototype;
  define(
    scope.Element.prototype,
    'attachShadow',
    /** @this {any} */ function (/** @type {any} */ options) {
      return attachShadow.call(this, { ...options, mode: 'open' });
    },
  );
  // What a canvas shows can be read only as long as it is kept.
  const { getContext } = scope.HTMLCanvasElement.prototype;
  define(
    scope.HTMLCanvasElement.prototype,
    'getContext',
    /** @this {any} */ function (/** @type {any} */ kind, /** @type {any} */ options) {
      const isKept = /webgl/.test(String(kind));
      return getContext.call(this, kind, isKept ? { ...options, preserveDrawingBuffer: true } : options);
    },
  );
  const { serviceWorker } = scope.navigator;
  if (serviceWorker)
    define(Object.getPrototypeOf(serviceWorker), 'register', () =>
      Promise.reject(new scope.DOMException('Service workers are closed.', 'SecurityError')),
    );
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport', 'SharedWorker'])
    if (name in scope) define(scope, name, undefined);
  for (const [name, answer] of Object.entries({
    open: null,
    print: undefined,
    alert: undefined,
    confirm: false,
    prompt: null,
  }))
    define(scope, name, () => answer);
}
