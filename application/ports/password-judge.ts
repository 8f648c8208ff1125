/** Judges new passwords away from the thread that answers. */
export interface PasswordJudge {
  /**
   * Why this password would be guessed soon, in sentences for who chose it; null if it would not. `known`:
   * what is known of the person. Throws TooManySignIns if too many wait, or it takes too long.
   */
  judge(password: string, known: readonly string[]): Promise<string | null>;
}
