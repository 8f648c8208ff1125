import { NamedError } from '../../domain/errors.js';
import { dirname, join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { categories, type Milliseconds } from '../../domain/ids.js';
import { isKeyName } from '../../domain/signed-note.js';
import { distance } from '../../domain/nearest.js';
import { maxEndpoints } from '../../domain/webhook-endpoints.js';

/** An address to listen on. Port 0 is any free port. */
export interface Listener {
  readonly host: string;
  readonly port: number;
}

export const httpAddress = ({ host, port }: Listener): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** The address at which a client reaches a listener on all addresses of this machine. */
export const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;

export class WrongSettings extends NamedError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const settingNames = [
  'PORT', 'HOST', 'BASE_URL', 'DATA_DIR', 'EVENTSTORE_URL', 'EVENTSTORE_PREFIX', 'MONGODB_URL', 'RABBITMQ_URL', 'SECRET_KEY_FILE', 'PERSONAL_KEY_FILE', 'EVENT_KEY_FILE', 'DEMO', 'CONSOLE', 'OPERATOR_TOKEN_FILE',
  'OPERATOR_HOST', 'OPERATOR_PORT', 'RATE_LIMIT_PER_MINUTE', 'HOOK_RATE_LIMIT_PER_MINUTE', 'HOOK_CALL_KEEP', 'REQUEST_LOG_KEEP', 'MAX_CONNECTIONS', 'TRUSTED_PROXIES', 'TIME_ZONE', 'PRODUCTION_DAYS', 'MAIL_DAYS', 'WEBHOOK_BACKOFF', 'WEBHOOK_TIMEOUT', 'WEBHOOK_DISABLE_AFTER', 'WEBHOOK_ENDPOINTS', 'WEBHOOK_DELIVERY', 'DELIVERY_KEEP', 'REHEARSAL',
  'LOG_KEY_FILE', 'LOG_HEAD_FILE', 'LOG_ORIGIN', 'LOG_SCRUB_EVERY', 'LOG_PUBLIC', 'LOG_ON_DAMAGE', 'LOG_POLICY_FILE', 'LOG_ANCHOR_DIR', 'WEBHOOK_ALLOW_NETWORKS', 'WEBHOOK_ALLOW_PORTS', 'FLOOR_SIMULATION', 'CLAIM_TIMEOUT', 'RECONCILE_AFTER', 'DRAIN', 'LOG_LEVEL',
] as const; // prettier-ignore
type SettingName = (typeof settingNames)[number];
export const serverSettings = ['EVENTSTORE_URL', 'MONGODB_URL', 'RABBITMQ_URL'] as const;

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A century: an instant that much later is still one. */
const maxDuration: Milliseconds = 36_525 * units.d;

/** Reads a number followed by `ms`, `s`, `m`, `h` or `d`, rounded; undefined if it is anything else. */
export const parseDuration = (text: string): Milliseconds | undefined => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  const unit = match?.[2] as keyof typeof units | undefined;
  const duration = unit === undefined ? NaN : Math.round(Number(match?.[1]) * units[unit]);
  return duration <= maxDuration ? duration : undefined;
};

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Reads the settings from the environment; an empty variable counts as absent. Throws WrongSettings, which
 * names every wrong one. (docs/operations.md#settings)
 */
export const readSettings = (environment: Environment) => {
  const problems: string[] = [];

  const read = <T>(
    name: SettingName,
    fallback: T,
    parse: (text: string) => T | undefined,
    wanted: string,
  ): T => {
    const text = environment[name]?.trim();
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value !== undefined) return value;
    problems.push(`${name} must be ${wanted}, not "${withoutUser(text)}"`);
    return fallback;
  };

  const choice = <T extends string>(name: SettingName, fallback: T, of: readonly T[], wanted: string): T =>
    read(name, fallback, (text) => of.find((each) => each === text), wanted);
  const isSet = (name: SettingName): boolean => (environment[name]?.trim() ?? '') !== '';
  const checked = <T>(
    name: SettingName,
    fallback: T,
    isRight: (text: string) => boolean,
    wanted: string,
  ): T | string => read<T | string>(name, fallback, (value) => (isRight(value) ? value : undefined), wanted);
  const hostName = (name: SettingName, fallback: string): string =>
    checked(name, fallback, isHost, 'an IP address or a host name');
  const text = <T>(name: SettingName, fallback: T): T | string =>
    checked(name, fallback, () => true, 'a text');
  const networksIn = (name: SettingName): readonly string[] =>
    read(name, [], networks, 'networks separated by commas, such as 127.0.0.0/8,10.0.0.0/8,::1/128');
  const whole = (name: SettingName, fallback: number, from: number, to: number): number =>
    read(name, fallback, (value) => wholeIn(value, from, to), `a whole number from ${from} to ${to}`);
  const duration = (name: SettingName, fallback: Milliseconds): Milliseconds =>
    read(
      name,
      fallback,
      (value) => positive(parseDuration(value)),
      'a duration above zero such as 500ms, 60s, 5m, 2h or 1d',
    );
  const url = (name: SettingName, schemes: readonly string[]): string | null =>
    checked(
      name,
      null,
      (value) => isUrl(value, schemes),
      `a URL such as ${schemes.map((scheme) => `${scheme}://host:port`).join(' or ')}`,
    );

  const eventStoreUrl = url('EVENTSTORE_URL', ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover']);
  const mongoUrl = url('MONGODB_URL', ['mongodb', 'mongodb+srv']);
  const rabbitUrl = url('RABBITMQ_URL', ['amqp', 'amqps']);
  const missing = serverSettings.filter((name) => !isSet(name));
  if (missing.length > 0 && missing.length < serverSettings.length)
    problems.push(
      `${missing.join(' and ')} must be set, too: the service runs on EventStoreDB, MongoDB and RabbitMQ together, or on files with none of them`,
    );
  const servers =
    eventStoreUrl === null || mongoUrl === null || rabbitUrl === null
      ? null
      : { eventStoreUrl, mongoUrl, rabbitUrl };
  const dataDir = text('DATA_DIR', './data');
  const host = hostName('HOST', '127.0.0.1');
  const port = whole('PORT', 8080, 0, 65_535);
  const publicUrl = read<string | null>(
    'BASE_URL',
    null,
    baseUrl,
    'a URL that begins with http:// or https:// and has no query, fragment or user',
  );
  const isLocal = isLoopback(publicUrl === null ? host : new URL(publicUrl).hostname);
  const byDefault = servers === null && isLocal ? 'on' : 'off';
  const demo = choice('DEMO', byDefault, ['on', 'off', 'public'], 'on, off or public');
  if (demo === 'on' && !isLocal)
    problems.push(
      `DEMO must be off where others than this machine reach the service (${publicUrl === null ? `HOST ${host}` : `BASE_URL ${publicUrl}`}): a demo prints its API key. Where that is what you want, it must be public`,
    );

  const secretKeyFile = text('SECRET_KEY_FILE', join(dataDir, 'secret.key'));

  const settings = {
    host,
    /** 0 for any free port. */
    port,
    /** Null if it is the address that the service listens on. */
    baseUrl: publicUrl,
    /** Where the operator API, metrics and readiness are served; null if on the public listener. */
    operatorListener: operatorListener(
      { host, port },
      {
        host: isSet('OPERATOR_HOST') ? hostName('OPERATOR_HOST', defaultOperatorListener.host) : null,
        port: isSet('OPERATOR_PORT') ? whole('OPERATOR_PORT', defaultOperatorListener.port, 0, 65_535) : null,
      },
    ),
    dataDir,
    /** Null: everything is kept in files of the data directory. */
    servers,
    /** Before the name of every stream there. */
    eventStorePrefix: checked(
      'EVENTSTORE_PREFIX',
      '',
      isPrefix,
      'at most 100 letters, digits and . _ - that begin with a letter or digit, and not with the name of a kind of streams such as card-',
    ),
    secretKeyFile,
    /** The key that encrypts the keys of personal data. */
    personalKeyFile: text('PERSONAL_KEY_FILE', join(dirname(secretKeyFile), 'personal.key')),
    /** The key for the MACs of events. */
    eventKeyFile: text('EVENT_KEY_FILE', join(dataDir, 'event.key')),
    operatorTokenFile: text('OPERATOR_TOKEN_FILE', join(dataDir, 'operator.token')),
    logKeyFile: text('LOG_KEY_FILE', join(dataDir, 'log.key')),
    /** The head of the log that was signed last. */
    logHeadFile: text('LOG_HEAD_FILE', join(dataDir, 'log.head')),
    /** Null: the log has the name that its key has, or gets one from the address that clients know. */
    logOrigin: checked(
      'LOG_ORIGIN',
      null,
      (value) => isKeyName(value) && value.length <= 200,
      'a name of at most 200 characters without spaces and plus signs, such as cards.example.com/log',
    ),
    /** From the end of one reading of the whole log to the beginning of the next. */
    logScrubEvery: duration('LOG_SCRUB_EVERY', 24 * units.h),
    /** Whether the log's checkpoints and hashes are public. */
    logPublic: read('LOG_PUBLIC', true, onOrOff, 'on or off'),
    logOnDamage: choice('LOG_ON_DAMAGE', 'exit', ['exit', 'report'], 'exit or report'),
    /** The witnesses of the log (c2sp.org/tlog-policy); null if there are none. */
    logPolicyFile: text('LOG_POLICY_FILE', null),
    /** Where a checkpoint is written every hour; null for nowhere. */
    logAnchorDir: text('LOG_ANCHOR_DIR', null),
    demo: demo !== 'off',
    console: read('CONSOLE', true, onOrOff, 'on or off'),
    rateLimitPerMinute: whole('RATE_LIMIT_PER_MINUTE', 120, 1, 1_000_000_000),
    hookRateLimitPerMinute: whole('HOOK_RATE_LIMIT_PER_MINUTE', 600, 1, 1_000_000_000),
    hookCallKeep: duration('HOOK_CALL_KEEP', 30 * units.d),
    requestLogKeep: duration('REQUEST_LOG_KEEP', 90 * units.d),
    maxConnections: whole('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    /** The networks of proxies that are believed about whose requests they pass on. */
    trustedProxies: networksIn('TRUSTED_PROXIES'),
    planning: {
      timeZone: checked(
        'TIME_ZONE',
        'America/New_York',
        isTimeZone,
        'the name of a time zone such as America/New_York',
      ),
      productionDays: whole('PRODUCTION_DAYS', 2, 0, 60),
      mailDays: whole('MAIL_DAYS', 5, 0, 60),
    },
    webhooks: {
      backoff: read(
        'WEBHOOK_BACKOFF',
        [60_000, 300_000, 1_500_000, 7_200_000, 36_000_000],
        durations,
        'durations separated by commas, such as 1m,5m,25m,2h,10h',
      ),
      timeout: duration('WEBHOOK_TIMEOUT', 10_000),
      disableAfter: whole('WEBHOOK_DISABLE_AFTER', 20, 1, 1_000_000),
      /** Per organization. */
      endpoints: whole('WEBHOOK_ENDPOINTS', 100, 1, maxEndpoints),
      /** False: deliveries are kept and wait. */
      delivery: read('WEBHOOK_DELIVERY', true, onOrOff, 'on or off'),
      keep: duration('DELIVERY_KEEP', 30 * units.d),
      allowNetworks: networksIn('WEBHOOK_ALLOW_NETWORKS'),
      /** Null for any. */
      allowPorts: read<readonly number[] | null>(
        'WEBHOOK_ALLOW_PORTS',
        [443],
        ports,
        'ports separated by commas, or * for any',
      ),
    },
    /** Whether this is a copy of the service, whatever marks say. */
    rehearsal: read('REHEARSAL', false, onOrOff, 'on or off'),
    /** How long each step takes; null for no simulation. */
    floorSimulation: read<Milliseconds | null>(
      'FLOOR_SIMULATION',
      null,
      simulation,
      'on, off or the time per step, such as 5s',
    ),
    claimTimeout: duration('CLAIM_TIMEOUT', 60_000),
    reconcileAfter: duration('RECONCILE_AFTER', 60_000),
    /** For how long it serves on after SIGTERM, not ready. */
    drain: read<Milliseconds>(
      'DRAIN',
      0,
      (value) => (value === '0' ? 0 : positive(parseDuration(value))),
      '0 or a duration such as 10s',
    ),
    logLevel: choice('LOG_LEVEL', 'info', logLevels, `one of ${logLevels.join(', ')}`),
  };
  if (problems.length > 0) throw new WrongSettings([...problems, ...misspelt(environment)]);
  return settings;
};

/** Short names are near to words such as POST: of these, another case or number counts alone. */
const isNear = (name: string, setting: SettingName): boolean =>
  setting.length > 4 ? distance(name, setting) <= 2 : name.replace(/S$/, '') === setting;

/** Words about variables that are no settings, but nearly have the name of one. */
export const misspelt = (environment: Environment): readonly string[] =>
  Object.keys(environment)
    .filter((name) => !settingNames.some((setting) => setting === name))
    .flatMap((name) => {
      const meant = settingNames.find((setting) => isNear(name.toUpperCase(), setting));
      return meant === undefined ? [] : [`there is no setting ${name}: ${meant} was probably meant`];
    });

export type Settings = Readonly<ReturnType<typeof readSettings>>;
export type Servers = NonNullable<Settings['servers']>;

const positive = (value: number | undefined): number | undefined =>
  value !== undefined && value > 0 ? value : undefined;

const onOrOff = (value: string): boolean | undefined =>
  value === 'on' ? true : value === 'off' ? false : undefined;

/** Whether a host, in a setting or a URL, is this machine alone. */
export const isLoopback = (host: string): boolean => {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  return ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback';
};

const defaultOperatorListener: Listener = { host: '127.0.0.1', port: 8081 };

/**
 * The operator's listener: null if it is the public one. That is the default while only this machine can
 * reach the public one.
 */
export const operatorListener = (
  open: Listener,
  wanted: { readonly host: string | null; readonly port: number | null },
): Listener | null => {
  if (wanted.host === null && wanted.port === null && isLoopback(open.host)) return null;
  const host = wanted.host ?? defaultOperatorListener.host;
  const port = wanted.port ?? defaultOperatorListener.port;
  return port !== 0 && port === open.port && host === open.host ? null : { host, port };
};

const simulationDefault: Milliseconds = 5_000;
const simulation = (value: string): Milliseconds | null | undefined => {
  const on = onOrOff(value);
  if (on !== undefined) return on ? simulationDefault : null;
  return positive(parseDuration(value));
};

const wholeIn = (text: string, from: number, to: number): number | undefined =>
  /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to ? Number(text) : undefined;

/** A list of items separated by commas; undefined if one of them is wrong. */
const listOf = <T>(value: string, parse: (item: string) => T | undefined): readonly T[] | undefined => {
  const parsed = value.split(',').map((item) => parse(item.trim()));
  return parsed.every((item) => item !== undefined) ? parsed : undefined;
};

const durations = (value: string): readonly Milliseconds[] | undefined =>
  listOf(value, (item) => positive(parseDuration(item)));

const ports = (value: string): readonly number[] | null | undefined =>
  value === '*' ? null : listOf(value, (item) => wholeIn(item, 1, 65_535));

const networks = (value: string): readonly string[] | undefined =>
  listOf(value, (item) => (ipaddr.isValidCIDR(item) ? item : undefined));

const isHostAndPort = (text: string): boolean => {
  const [host, port = '1'] = /^(\[[\d:a-f.]+\]|[\w.%-]+)(?::(\d+))?$/i.exec(text)?.slice(1) ?? [];
  return host !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
};

/** A text that may be a URL, without the password that it may hold. */
const withoutUser = (text: string): string => text.replace(/^([a-z+]+:\/\/)?.*@/s, '$1…@');

/** A URL with one of the schemes, and one or several hosts. */
const isUrl = (value: string, schemes: readonly string[]): boolean => {
  const [, scheme = '', hosts = ''] = /^([a-z+]+):\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(value) ?? [];
  return schemes.includes(scheme) && hosts.split(',').every(isHostAndPort);
};

/** The address without a trailing slash. Appending a path to it must give a URL. */
const baseUrl = (value: string): string | undefined => {
  if (!isUrl(value, ['http', 'https']) || !URL.canParse(value)) return undefined;
  const { username, password } = new URL(value);
  return username === '' && password === '' && !/[?#]/.test(value) ? value.replace(/\/+$/, '') : undefined;
};

/** A prefix such as `card-` would make streams of two deployments look alike. */
const isPrefix = (value: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value) &&
  !categories.some((category) => value.startsWith(`${category}-`));

const isHost = (value: string): boolean =>
  ipaddr.isValid(value) || /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(value);

const isTimeZone = (value: string): boolean => {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: value });
    return true;
  } catch {
    return false;
  }
};
