/** Protocol versions are strings; a server speaks each one listed, best first. */
export const protocolVersions = ["1"] as const;

/** The WebSocket sub-protocol; offered by clients, not demanded by the server. */
export const subprotocol = "trailgym.1";
