import { NamedError } from '../../domain/errors.js';
import type { FoundRecord, Records } from './records.js';

/**
 * Records so that people can sign in. `session`: a person is signed in. `link`: a link that works once.
 * `form`: a form that was sent. `password`: the hash of an account's password, by the account; it belongs to
 * the account's e-mail address.
 */
export const signInKinds = ['session', 'link', 'form', 'password'] as const;
type SignInKind = (typeof signInKinds)[number];

/**
 * The id is the SHA-256 of a browser's secret, which isn't kept. The owner is the account that a record
 * belongs to, or `root` for the operator.
 */
export type FoundSignInRecord = FoundRecord<SignInKind>;

/** The records can't be reached. Without them, people can be neither let in nor refused. */
export class SignInUnavailable extends NamedError {}

/** Records of signing in. All methods throw SignInUnavailable. */
export type SignInRecords = Records<SignInKind>;
