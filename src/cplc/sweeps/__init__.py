"""The same questions of many protocols, parameters and beliefs, on all cores of a machine or on many machines."""
