/** Runs jobs one after the other. */
export const inTurn =
  <Told extends readonly unknown[]>(
    ...jobs: readonly (((...told: Told) => Promise<void>) | undefined)[]
  ) =>
  async (...told: Told): Promise<void> => {
    for (const job of jobs) await job?.(...told)
  }
