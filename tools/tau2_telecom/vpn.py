"""The phone's VPN: which profile a connection uses, and what becomes of it.

In the ``guide`` profile every connection starts from a fresh profile. In ``tau2`` the profile is shared by all
connections of a session, so that one that was degraded stays degraded; what is needed for that lives in the state's
memory, because the database does not tell a shared profile from an equal one.
"""

from __future__ import annotations

from duologue.errors import ToolRefusal
from duologue.state.side_state import SideState
from tools.tau2_telecom.db import database, follows_upstream, phone_device

_SERVER_ADDRESS = "192.168.1.1"
_PROTOCOL = "OpenVPN"
_PERFORMANCE = "excellent"

_IN_USE = "vpn_profile_in_use"
_SHARED_PERFORMANCE = "vpn_profile_performance"


def connect(state: SideState) -> None:
    """Connect the phone through the default profile."""
    performance = _PERFORMANCE
    if follows_upstream(state):
        performance = state.memory.get(_SHARED_PERFORMANCE, _PERFORMANCE)
        state.memory[_IN_USE] = True
    device = phone_device(database(state))
    device["vpn_connected"] = True
    device["vpn_details"] = {
        "server_address": _SERVER_ADDRESS,
        "protocol": _PROTOCOL,
        "server_performance": performance,
    }


def disconnect(state: SideState) -> None:
    """End the connection and forget its details."""
    device = phone_device(database(state))
    device["vpn_connected"] = False
    device["vpn_details"] = None
    state.memory.pop(_IN_USE, None)


def degrade(state: SideState) -> None:
    """Make the current connection's server slow.

    Raises:
        ToolRefusal: the connection has no details.
    """
    details = phone_device(database(state))["vpn_details"]
    if details is None:
        raise ToolRefusal("the VPN connection has no details to change")
    details["server_performance"] = "poor"
    if state.memory.get(_IN_USE):
        state.memory[_SHARED_PERFORMANCE] = "poor"
