interface Target {
  readonly isTTY?: boolean
}
type Env = Readonly<Record<string, string | undefined>>

export declare function hasColour(stream: Target, env?: Env): boolean
