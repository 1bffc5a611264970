/** One line for each failpoint that is neither reached nor excused, or excused by mistake. */
export function coverageFaults(about: {
  readonly points: readonly string[]
  /** What the campaign recorded: `point position` each. */
  readonly places: Iterable<string>
  readonly exempt: Readonly<Record<string, string>>
  readonly chance: Readonly<Record<string, string>>
}): readonly string[]
