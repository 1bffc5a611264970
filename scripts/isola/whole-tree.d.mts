/** A session as `GET /api/sessions/:id` shows it. */
interface Tree {
  readonly id: string
  readonly runs: readonly object[]
  readonly children: readonly Tree[]
}

export declare function wholeTree(
  request: (path: string) => Promise<unknown>,
  session: string,
): Promise<Tree>
