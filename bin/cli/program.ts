import { Command, CommanderError } from 'commander';
import { SystemClock } from '../../adapters/system/clock.js';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { backUp, isPicture, promote, restore, type BackedUp } from './backup.js';
import {
  exitCodes,
  NotDelivered,
  operatorClient,
  ServiceRefused,
  Unreachable,
  withAddress,
  WrongUsage,
} from './client.js';
import { importVerb } from './contact-verbs.js';
import { exportVerbs } from './export-verbs.js';
import { listenVerb } from './listen.js';
import { logVerbs } from './log-verbs.js';
import { personalVerbs } from './personal-verbs.js';
import { count } from './progress.js';
import { version } from '../settings/version.js';
import { serverVerbs } from './server-verbs.js';
import { triggerVerbs } from './trigger.js';
import {
  longVerb,
  option,
  parseInput,
  verb,
  type CommandInput,
  type Option,
  type Verb,
  type VerbContext,
} from './verb.js';
import { verbs } from './verbs.js';

/** Where a command is given: its settings, and where its output and its complaints go. */
export interface Terminal extends Pick<VerbContext, 'environment' | 'complain'> {
  readonly write: (text: string) => void;
  /** A monotonic clock, which paces reports of progress; the system's if it is left out. */
  readonly monotonic?: () => Milliseconds;
  /** Asks the person at a terminal; absent if there is none, and nothing is asked. */
  readonly confirm?: (question: string) => Promise<boolean>;
}

const baseUrl = option(
  'base-url',
  'address of the service, also after the verb; instead of what the settings say',
);

const declare = (command: Command, { name, description, required = false, kind }: Option): void => {
  /** A list may be given in several options of the same name. Throws WrongUsage. */
  const parse = (value: string, before = value): string => {
    // An empty one is a script's unset variable, and without these something else is meant.
    if ((required || name === 'org' || name === baseUrl.name) && value.trim() === '')
      throw new WrongUsage(`--${name} is empty. Give it a value: ${description}.`);
    // Nor may the next option be taken for its value.
    if (/^--[a-z]+(-[a-z]+)*$/.test(value))
      throw new WrongUsage(`--${name} has no value: ${value} follows. Give it one: ${description}.`);
    if (before !== value && kind !== 'list') throw new WrongUsage(`--${name} has two values. Give it once.`);
    return before === value ? value : `${before},${value}`;
  };
  if (kind === 'switch') command.option(`--${name}`, description);
  else if (required) command.requiredOption(`--${name} <value>`, `${description} (required)`, parse);
  else command.option(`--${name} <value>`, description, parse);
};

/**
 * Options may be spelled like the API's fields: `--signed_by` means `--signed-by`, and `--organization`
 * `--org`.
 */
const asOption = (argument: string): string =>
  /^--[a-z]+(_[a-z]+)*(=|$)/.test(argument)
    ? argument.replace(/^[^=]+/, (name) => (name === '--organization' ? '--org' : name.replaceAll('_', '-')))
    : argument;

const helpAfter = `
For example: org create --name Acme
             card history HC-7K3M9QX

\`<noun> --help\` describes its verbs, \`<noun> <verb> --help\` lists the options of a verb.

The service is expected at BASE_URL, or at http://HOST:PORT if that is not set; at http://OPERATOR_HOST:OPERATOR_PORT if one of these is set or HOST is no loopback address. The operator token is read from OPERATOR_TOKEN_FILE, or from DATA_DIR/operator.token.
Exit codes: 0 done, 1 refused by the service, 2 wrong usage, 3 and 4 an event was not delivered, 69 the service can't be reached.`;

type Parsed = Readonly<Record<string, string | undefined>>;

const nounOf = (program: Command, noun: string): Command =>
  program.commands.find((command) => command.name() === noun) ??
  program.command(noun).usage('<verb> [options]');

/**
 * Whether the verb concerns an organization and nothing else: then its id may follow the verb instead of
 * `--org`.
 */
const concernsOrganization = ({ argument, options }: Verb): boolean =>
  argument === undefined && options.some(({ name }) => name === 'org');

const orgOrArgument = (org: Option): Option =>
  org.required === true
    ? option(org.name, `${org.description} (required, here or right after the verb)`)
    : org;

const usage = (verb: Verb): string => {
  if (verb.argument !== undefined) return `${verb.verb} <${verb.argument}>`;
  return concernsOrganization(verb) ? `${verb.verb} [org]` : verb.verb;
};

const inputOf = (verb: Verb, first: unknown, options: Parsed): CommandInput => {
  const argument = typeof first === 'string' ? first : '';
  if (typeof first === 'string' && argument.trim() === '')
    throw new WrongUsage(`<${verb.argument ?? 'org'}> is empty. Give it a value.`);
  if (!concernsOrganization(verb)) return parseInput(argument, options);
  const org = options['org'] ?? argument;
  if (argument !== '' && argument !== org)
    throw new WrongUsage(`Two organizations are named: ${argument} and --org ${org}. Name one.`);
  const isNeeded = verb.options.some(({ name, required }) => name === 'org' && required === true);
  if (org === '' && isNeeded && options['house'] === undefined)
    throw new WrongUsage('Name the organization: --org <id>.');
  return parseInput('', { ...options, org: org === '' ? undefined : org });
};

type Session = Terminal & Pick<VerbContext, 'monotonic' | 'print'>;

const add = (program: Command, verb: Verb, session: Session): void => {
  const { question } = verb;
  const { print, confirm } = session;
  const parent = verb.noun === '' ? program : nounOf(program, verb.noun);
  const command = parent.command(usage(verb)).description(verb.description);
  for (const each of verb.options)
    declare(command, each.name === 'org' && concernsOrganization(verb) ? orgOrArgument(each) : each);
  command.option('--json', "print JSON; the API's response unchanged");
  if (question !== undefined) command.option('--yes', "don't ask for confirmation at a terminal");
  command.action(async (first: unknown) => {
    const { json = false, yes, ...options } = command.opts<{ readonly json?: true; readonly yes?: true }>();
    const { baseUrl: address } = program.opts<{ readonly baseUrl?: string }>();
    const { environment: given } = session;
    const environment = address === undefined ? given : withAddress(given, address.replace(/\/+$/, ''));
    const input = inputOf(verb, first, options);
    if (question !== undefined && yes !== true && confirm && !(await confirm(question)))
      throw new Error('Nothing was done.');
    const show = (value: object, text: string): void => print(json ? JSON.stringify(value) : text);
    await verb.run({ ...session, environment, client: operatorClient(environment), input, json, show });
  });
};

/** The files a line each, but pictures, of which there may be thousands, in one. */
const showCopy = ({ show }: VerbContext, done: BackedUp, text: string): void => {
  const pictures = done.files.filter(isPicture).length;
  const files = done.files.filter((name) => !isPicture(name));
  if (pictures > 0) files.push(`${count(pictures)} below artwork/`);
  const last = `last event: ${done.position} ${done.hash ?? ''}`.trimEnd();
  show(done, [text, 'files:', ...files.map((name) => `  ${name}`), last].join('\n  '));
};

const commands = [
  longVerb(
    'backup <to>',
    'Back up DATA_DIR, or the records in MongoDB, with the secret files to a new folder, even while the service runs; to *.db: only the events; on servers to *.keys: only the keys of personal data and the pictures',
    [],
    async (context) => {
      const { argument: path } = context.input;
      showCopy(context, await backUp(path, context.environment), `Backed up to ${path}.`);
    },
  ),
  longVerb(
    'restore <from>',
    'Restore a backup to a DATA_DIR without data; on servers, put back what is missing in MongoDB',
    [],
    async (context) => {
      const restored = await restore(context.input.argument, context.environment);
      const done = `Restored to ${restored.path}: a rehearsal, which changes and sends nothing until you promote it.`;
      showCopy(context, restored, [done, ...restored.notes].join('\n  '));
    },
  ),
  longVerb(
    'promote',
    'Make a rehearsal the service; stop it first',
    [],
    async ({ environment, show }) => {
      const promoted = await promote(environment);
      const { path, original } = promoted;
      const told =
        original === null
          ? 'See that the service that it was copied from, or what replaced that, never starts again.'
          : `${original}, the service until now, is a rehearsal from now on.`;
      show(promoted, `${path} is the service from the next start on. ${told}`);
    },
    { question: 'The service that this is a copy of must never start again. Make the copy the service?' },
  ),
  verb(
    'console',
    'Print a link that signs the operator in to the console, once, within 15 minutes',
    'POST /console-links',
  ),
];

export const allVerbs: readonly Verb[] = [
  ...verbs,
  ...logVerbs,
  importVerb,
  listenVerb,
  ...triggerVerbs,
  ...exportVerbs,
  ...serverVerbs,
  ...personalVerbs,
];

const commandsOf = (session: Session): Command => {
  const program = new Command('cli')
    .description('The back office of the Handwritten Card Service, as a client of the running service')
    .usage('<noun> <verb> [id or code] [options]')
    .version(version, '--version', 'print the version')
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({ writeOut: session.write, writeErr: session.complain });
  declare(program, baseUrl);
  for (const each of [...allVerbs, ...commands]) add(program, each, session);
  for (const noun of program.commands) {
    noun.exitOverride().summary(noun.commands.map((verb) => verb.name()).join(', ') || noun.description());
    for (const verb of noun.commands) verb.exitOverride();
  }

  program.addHelpText('after', helpAfter);
  return program;
};

const exitCodeFor = (
  error: unknown,
  json: boolean,
  { print, complain }: Pick<Session, 'print' | 'complain'>,
): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
  const isMongoAway = error instanceof Error && /^Mongo(Network|ServerSelection)/.test(error.name);
  complain(`${isMongoAway ? 'MongoDB: ' : ''}${messageOf(error)}\n`);
  try {
    if (error instanceof ServiceRefused && json && error.text !== '') print(error.text);
  } catch (full) {
    complain(`${messageOf(full)}\n`);
  }
  if (error instanceof NotDelivered) return exitCodes[error.code];
  if (error instanceof WrongUsage) return exitCodes.wrongUsage;
  const isAway = error instanceof Unreachable || error instanceof EventStoreUnavailable;
  return isAway || isMongoAway ? exitCodes.unreachable : exitCodes.refused;
};

/** Carries out one command. Returns the exit code; never rejects. */
export const runCommandLine = async (typed: readonly string[], terminal: Terminal): Promise<number> => {
  const print = (text: string): void => terminal.write(`${text}\n`);
  const clock = new SystemClock();
  const monotonic = terminal.monotonic ?? (() => clock.monotonic());
  const words = typed.map(asOption);
  try {
    await commandsOf({ ...terminal, monotonic, print }).parseAsync(words, { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    return exitCodeFor(error, words.includes('--json'), { ...terminal, print });
  }
};
