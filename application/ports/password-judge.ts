/** Judges new passwords away from the thread that answers. */
export interface PasswordJudge {
  /**
   * Explains, in sentences for the person who chose it, why a password would soon be guessed; null if it
   * would not. `known`: facts about the person. Throws TooManySignIns if too many wait, or it takes too long.
   */
  judge(password: string, known: readonly string[]): Promise<string | null>;
}
